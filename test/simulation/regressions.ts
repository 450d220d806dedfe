import type { Command } from "../../src/core/command.ts";
import type { EngineLimits } from "../../src/core/limits.ts";
import type { WorldOptions } from "./options.ts";

/** A seed that once failed, or a world drawn around something that once failed. */
export interface SeedRegression {
  readonly why: string;
  readonly seed: number;
  readonly steps: number;
  /** Instead of what the seed draws. */
  readonly options?: Partial<WorldOptions>;
  readonly limits?: Partial<EngineLimits>;
  readonly deeds?: Partial<WorldOptions["deeds"]>;
}

/** The shortest way to a bug, kept as commands: seeds tell another story as soon as the world changes, this does not. */
export interface StoryRegression {
  readonly why: string;
  readonly limits?: Partial<EngineLimits>;
  /** What happens when; `crash` starts a new server from the store. */
  readonly story: readonly (readonly [now: number, what: Command | "crash"])[];
}

const LOCK = { kind: "acquire", session: false, key: "k", mode: "exclusive", ttlMs: 1000 } as const;

export const SEED_REGRESSIONS: readonly SeedRegression[] = [
  {
    why: "with nothing remembered, a waiter who hung up was forgotten twice and the list of the remembered came apart",
    seed: 28,
    steps: 3000,
    limits: { endedMax: 0 },
    deeds: { hangUp: 10, crashBeforeCommit: 0.5 },
  },
  {
    why: "a nest's request id that is used for a claim of its own is that claim's from then on",
    seed: 195,
    steps: 3000,
    deeds: { nest: 20, repeatSame: 10, repeatOther: 20 },
  },
  {
    why: "kept waits of sessions without grace came back from the store as waiters who are nobody",
    seed: 3,
    steps: 3000,
    options: { keep: 0.6, grace: 0.5, persist: "outliving", quarantineMs: 0 },
    deeds: { crashBeforeCommit: 1, crashBeforeDelivery: 1 },
  },
];

export const STORY_REGRESSIONS: readonly StoryRegression[] = [
  {
    why: "with nothing remembered, a waiter who hangs up is forgotten once",
    limits: { endedMax: 0 },
    story: [
      [0, { ...LOCK, from: "@1", request: "a", newToken: "t1" }],
      [1, { ...LOCK, from: "@2", request: "b", newToken: "t2" }],
      [2, { kind: "cancel", from: "@2", request: "b", forget: true }],
      [3, { ...LOCK, from: "@2", request: "b", newToken: "t3" }],
    ],
  },
  {
    why: "a kept wait of a session without grace does not outlive the server",
    story: [
      [0, { kind: "open", session: "s1", secret: "x", graceMs: 0 }],
      [1, { ...LOCK, from: "@1", request: "a", newToken: "t1" }],
      [2, { ...LOCK, from: "s1", session: true, request: "b", keep: true, newToken: "t2" }],
      [3, "crash"],
      [1001, { kind: "status", from: "@1", request: "c", key: "k" }],
    ],
  },
  {
    why: "a forgotten request stays forgotten over a restart",
    story: [
      [0, { ...LOCK, from: "@1", request: "a", newToken: "t1" }],
      [1, { kind: "cancel", from: "@1", request: "a", forget: true }],
      [2, "crash"],
      [3, { ...LOCK, from: "@1", request: "a", newToken: "t2" }],
      [4, { kind: "release", from: "@1", request: "b", key: "k", token: "t1" }],
    ],
  },
  {
    why: "a claim that its caller abandoned is not in a snapshot",
    story: [
      [0, { kind: "open", session: "s1", secret: "x", graceMs: 500 }],
      [1, { ...LOCK, from: "s1", session: true, request: "a", newToken: "t1" }],
      [2, { kind: "cancel", from: "s1", request: "a", forget: true }],
      [3, { kind: "resume", session: "s1", secret: "x" }],
    ],
  },
  {
    why: "a nest's repeat is a mismatch once its request id is a claim's",
    story: [
      [0, { ...LOCK, from: "@1", request: "a", newToken: "t1" }],
      [1, { ...LOCK, from: "@1", request: "b", token: "t1", nest: true, newToken: "t2" }],
      [2, { ...LOCK, from: "@1", request: "b", key: "other", newToken: "t3" }],
      [3, { ...LOCK, from: "@1", request: "b", token: "t1", nest: true, newToken: "t4" }],
    ],
  },
];
