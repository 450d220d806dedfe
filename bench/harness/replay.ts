/**
 * What several load generators saw, put into one order by the clock that they share, and judged as if one had seen it.
 * A client's hold, from the grant that it saw to the release that it is about to send, lies within the time that the
 * service gave it: two that overlap are a violation, whichever processes they were in.
 */

import { median } from "../figures.ts";
import type { Entry, GrantEntry } from "../load/log.ts";
import { type Granted, Record } from "../load/record.ts";

interface Window {
  readonly beganNs: number;
  readonly lengthNs: number;
}

export class Replay {
  readonly record: Record;
  readonly #windows: Window[] = [];
  readonly #holding = new Map<string, Granted>();

  constructor(clients: number, hasOwnKeys: boolean) {
    this.record = new Record(clients, hasOwnKeys);
  }

  /** All that was seen since the slice before, in any order; clients are numbered over all load generators. */
  slice(
    entries: readonly Entry[],
    beganNs: number,
    ms: number,
  ): { readonly cycles: number; readonly scoreNs: number | null } {
    const { record } = this;
    this.#windows.push({ beganNs, lengthNs: ms * 1e6 });
    record.beginSlice();
    for (const entry of entries.toSorted(inTime)) {
      if ("atNs" in entry) this.#granted(entry);
      else this.#releasing(`${entry.client} ${entry.key}`, entry.releasedAtNs);
    }
    return { cycles: record.cycles, scoreNs: record.scores.length === 0 ? null : median(record.scores) };
  }

  #granted({ client, key, isShared, limit, ticket, fence, askedAtNs, atNs }: GrantEntry): void {
    const { record } = this;
    const { beganNs, lengthNs } = this.#windows.at(-1) as Window;
    const granted: Granted = {
      client,
      key,
      isShared,
      limit,
      ticket,
      fence,
      ask: askedAtNs,
      askedAtNs: this.#passedNs(askedAtNs),
      wantedAtNs: this.#passedNs(askedAtNs),
      atNs: this.#passedNs(atNs),
      isTimed: atNs >= beganNs && atNs < beganNs + lengthNs,
    };
    this.#holding.set(`${client} ${key}`, granted);
    record.granted(granted);
  }

  #releasing(hold: string, atNs: number): void {
    const granted = this.#holding.get(hold);
    if (granted === undefined) throw new Error(`${hold} was released without a grant`);
    this.#holding.delete(hold);
    this.record.releasing(granted, this.#passedNs(atNs));
  }

  /** Time that stands still between the slices, as in a load generator. */
  #passedNs(atNs: number): number {
    return this.#windows.reduce(
      (sum, { beganNs, lengthNs }) => sum + Math.min(lengthNs, Math.max(0, atNs - beganNs)),
      0,
    );
  }
}

/** Of two at the same instant the release is first, since it may have led to the grant. */
function inTime(one: Entry, other: Entry): number {
  const difference = timeOf(one) - timeOf(other);
  return difference === 0 ? Number("atNs" in one) - Number("atNs" in other) : difference;
}

function timeOf(entry: Entry): number {
  return "atNs" in entry ? entry.atNs : entry.releasedAtNs;
}
