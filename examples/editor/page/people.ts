/** Who sits at the two panes, and how people are shown. */

export type Tone = "ada" | "grace" | "other";

export interface Person {
  readonly name: string;
  readonly tone: Tone;
}

export const PEOPLE: readonly Person[] = [
  { name: "Ada", tone: "ada" },
  { name: "Grace", tone: "grace" },
];

/** A fence is as long as its server is old; its end tells it from its neighbours. */
export function shortFence(fence: number): string {
  return fence < 100_000 ? String(fence) : `…${String(fence).slice(-4)}`;
}

/** Of a session's user, as the server tells it; a lock may also be held by a program that names nobody. */
export function personOf(user: string | undefined): Person {
  return PEOPLE.find(({ name }) => name === user) ?? { name: user ?? "Somebody", tone: "other" };
}
