/** What a third session sees that only watches: who holds each field, and who waits. */

import { connect, type KeyState, type Watch } from "latchkey/client";
import { FIELDS } from "../fields.ts";
import { PREFIX } from "./claim.ts";
import type { Desk } from "./desk.ts";
import { avatar, make } from "./dom.ts";
import { type Person, personOf, shortFence } from "./people.ts";
import { Region } from "./region.ts";

interface Row {
  readonly key: string;
  readonly label: string;
  readonly queue: Region;
}

export class ServerView {
  readonly element: HTMLElement;
  readonly #desks: readonly Desk[];
  readonly #rows: readonly Row[];
  readonly #watch: Watch;
  readonly #tell: (person: Person, text: string) => void;
  #before: ReadonlyMap<string, KeyState> = new Map();

  constructor(desks: readonly Desk[], auth: string | undefined, tell: (person: Person, text: string) => void) {
    this.#desks = desks;
    this.#tell = tell;
    this.#rows = FIELDS.map(({ name, label }) => ({ key: PREFIX + name, label, queue: new Region(make("dd")) }));
    this.element = make(
      "dl",
      { class: "queues" },
      ...this.#rows.flatMap(({ label, queue }) => [make("dt", {}, label), queue.element]),
    );
    this.#watch = connect(location.origin, { auth, meta: { name: "onlooker" } }).watch({ prefix: PREFIX });
    this.#watch.subscribe(() => this.#changed());
  }

  render(): void {
    for (const row of this.#rows) this.#renderRow(row);
  }

  #changed(): void {
    const { states } = this.#watch;
    for (const { key, label } of this.#rows) {
      const holder = states.get(key)?.holders[0];
      const before = this.#before.get(key)?.holders[0];
      if (holder !== undefined && holder.fence !== before?.fence) {
        this.#tell(personOf(holder.user), `holds ${label}, fence ${shortFence(holder.fence)}`);
      } else if (holder === undefined && before !== undefined) {
        this.#tell(personOf(before.user), `no longer holds ${label}`);
      }
    }
    this.#before = states;
    this.render();
  }

  #renderRow({ key, queue }: Row): void {
    const state = this.#watch.states.get(key);
    const holders = (state?.holders ?? []).map(
      ({ user, fence }) => [personOf(user), `fence ${shortFence(fence)}`] as const,
    );
    const named = this.#desks
      .filter((desk) => desk.active?.key === key && desk.active.isWaiting)
      .slice(0, state?.waiting ?? 0)
      .map(({ person }) => [person, "waits"] as const);
    const unnamed = (state?.waiting ?? 0) - named.length;
    queue.show([holders, named, unnamed], () => {
      if (holders.length === 0) return [make("span", { class: "nobody" }, "free")];
      const seats = [...holders, ...named].map(([person, text]) => chip(person, text));
      return unnamed > 0 ? [...seats, make("span", { class: "more" }, `+${unnamed}`)] : seats;
    });
  }
}

function chip({ name, tone }: Person, text: string): HTMLElement {
  return make(
    "span",
    { class: "seat", "data-tone": tone },
    avatar(name, tone),
    make("span", {}, name),
    make("small", {}, text),
  );
}
