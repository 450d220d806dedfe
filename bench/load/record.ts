/** Who got which key when, and whether anybody had it who must not. */

import { distinctInWindow, fairestJain, inversions, jain, median, relativeDeviation, returns } from "../figures.ts";
import type { Shape } from "../scenarios.ts";
import type { Fairness, Hold } from "./job.ts";
import { Times } from "./summary.ts";

interface Key {
  exclusive: number;
  shared: number;
  /** Of the last one who held alone. */
  fence: number;
  lastHolder: number | undefined;
  releasedAtNs: number | undefined;
  /** The last holder was cut, and did not let go. */
  wasCut: boolean;
  /** In the order of the grants. */
  readonly holders: number[];
  readonly ticketed: Ticketed[];
  readonly atOnce: AtOnce[];
}

interface Ticketed {
  readonly ticket: number;
  /** The place in the order of the grants. */
  readonly fence: number;
  /** The place in the order of sending. */
  readonly ask: number;
  /** Infinite where nobody said. */
  readonly queuedAtNs: number;
}

/** A grant that did not wait, and so has no ticket. */
interface AtOnce {
  readonly fence: number;
  readonly sentAtNs: number;
}

export interface Granted {
  readonly client: number;
  readonly key: string;
  readonly isShared: boolean;
  readonly limit: number | undefined;
  /** The place in the order of sending. */
  readonly ask: number;
  readonly askedAtNs: number;
  /** When the lock was wanted: earlier than it was asked for where the client that asks was late. */
  readonly wantedAtNs: number;
  readonly atNs: number;
  readonly ticket: number | undefined;
  readonly fence: number | undefined;
  /** By a clock that never stands still: when it was asked for, and when the client heard that it stood in line, if it did. */
  readonly sentAtNs?: number | undefined;
  readonly queuedAtNs?: number | undefined;
  /** Whether the clock ran all the time. */
  readonly isTimed: boolean;
}

const REMEMBERED_MAX = 300_000;
const TIMELINE_MAX = 400;

/** With so few grants that one more or less costs a client this, Jain's index says nothing of a service that is fair about it. */
const JAIN_MIN = 0.999;
/** Below this share of what could be had it is unfair however few they are. */
const UNFAIR = 0.9;

export class Record {
  /** After a release. */
  handOffs: Times = new Times();
  /** After the holder was cut. */
  cutHandOffs: Times = new Times();
  waits: Times = new Times();
  /** Of the current slice. */
  scores: number[] = [];
  /** Of the current slice: hand-offs from a holder that was cut. */
  cutScores: number[] = [];
  /** Of the current slice: whole passes of a drain. */
  passes: number[] = [];
  cycles = 0;
  grantCount = 0;
  violations = 0;
  timeline: Hold[] = [];
  readonly #keys = new Map<string, Key>();
  readonly #grants: number[];
  readonly #scoresWaits: boolean;
  readonly #rememberedMax: number;
  #selfHandOffs = 0;
  #handOffCount = 0;
  #isOver = false;

  /** `scoresWaits`: what a slice is about is the wait, not the hand-off. */
  constructor(clients: number, scoresWaits: boolean, rememberedMax: number = REMEMBERED_MAX) {
    this.#grants = Array.from({ length: clients }, () => 0);
    this.#scoresWaits = scoresWaits;
    this.#rememberedMax = rememberedMax;
  }

  beginSlice(): void {
    this.scores = [];
    this.cutScores = [];
    this.passes = [];
    this.cycles = 0;
    this.timeline = [];
  }

  /** What the current slice is about. */
  scoresOf(shape: Shape): readonly number[] {
    if (shape === "drain") return this.passes;
    return shape === "drop" || shape === "crash" ? this.cutScores : this.scores;
  }

  /** Forgets all times so far, not who had what: code that ran for the first time was slow. */
  forgetTimes(): void {
    this.handOffs = new Times();
    this.cutHandOffs = new Times();
    this.waits = new Times();
  }

  /** The last turn is over. Whoever is granted from now on is let out of the line: it was not its turn that came. */
  end(): void {
    this.#isOver = true;
  }

  granted(granted: Granted): void {
    const { client, askedAtNs, wantedAtNs, atNs } = granted;
    const key = this.#key(granted.key);
    this.#enter(key, granted);
    this.grantCount += 1;
    const { releasedAtNs } = key;
    const isHandOff = releasedAtNs !== undefined && askedAtNs <= releasedAtNs;
    if (!this.#isOver) this.#share(key, client);
    if (granted.isTimed) {
      this.cycles += 1;
      this.waits.add(atNs - wantedAtNs);
      if (this.#scoresWaits) this.scores.push(atNs - wantedAtNs);
      if (isHandOff) this.#handedOff(key, atNs - releasedAtNs);
    }
    key.releasedAtNs = undefined;
    key.lastHolder = client;
    this.#line(key, granted);
  }

  /** Must be told before the service is, so that what the service does of it can only be later. */
  releasing(granted: Granted, atNs: number, wasCut = false): void {
    const key = this.#key(granted.key);
    if (granted.isShared) key.shared -= 1;
    else key.exclusive -= 1;
    key.releasedAtNs = atNs;
    key.wasCut = wasCut;
    if (this.timeline.length < TIMELINE_MAX) {
      this.timeline.push([granted.client, granted.atNs / 1e6, atNs / 1e6]);
    }
  }

  fairness(): Fairness {
    const grants = this.#grants;
    const keys = [...this.#keys.values()];
    const least = Math.min(...grants);
    const lines = keys.filter(({ ticketed, atOnce }) => ticketed.length > 0 && ticketed.length + atOnce.length > 1);
    const [hottest] = keys.toSorted((a, b) => b.holders.length - a.holders.length);
    const holders = hottest?.holders ?? [];
    return {
      grants,
      jain: jainOf(grants),
      relativeDeviation: relativeDeviation(grants),
      maxByMin: least === 0 ? null : Math.max(...grants) / least,
      // Not those for whom there were no grants: a slow service is not an unfair one.
      starved: grants.filter((count) => count === 0).length - Math.max(0, grants.length - total(grants)),
      selfShare: this.#handOffCount === 0 ? 0 : this.#selfHandOffs / this.#handOffCount,
      returnsAfter: finite(median(returns(holders))),
      distinct: finite(distinctInWindow(holders, grants.length)),
      orderInversions: lines.length === 0 ? null : total(lines.map((key) => outOfOrder(key) + overtakings(key))),
      arrivalInversions:
        lines.length === 0
          ? null
          : total(lines.map(({ ticketed }) => inversions(by("ticket", ticketed).map(({ ask }) => ask)))),
    };
  }

  #share(key: Key, client: number): void {
    this.#grants[client] = (this.#grants[client] ?? 0) + 1;
    if (key.holders.length < this.#rememberedMax) key.holders.push(client);
    if (key.releasedAtNs === undefined) return;
    this.#handOffCount += 1;
    if (key.lastHolder === client) this.#selfHandOffs += 1;
  }

  #line({ ticketed, atOnce }: Key, { ticket, ask, fence, sentAtNs, queuedAtNs }: Granted): void {
    if (ticketed.length + atOnce.length >= this.#rememberedMax) return;
    // Readers are granted together, and their news are read in any order: the fence knows which was first.
    if (ticket !== undefined) {
      ticketed.push({
        ticket,
        ask,
        fence: fence ?? ticketed.length,
        queuedAtNs: queuedAtNs ?? Number.POSITIVE_INFINITY,
      });
    } else if (fence !== undefined && sentAtNs !== undefined) atOnce.push({ fence, sentAtNs });
  }

  #handedOff({ wasCut }: Key, ns: number): void {
    (wasCut ? this.cutHandOffs : this.handOffs).add(ns);
    if (!this.#scoresWaits) (wasCut ? this.cutScores : this.scores).push(ns);
  }

  #enter(key: Key, { isShared, limit, fence }: Granted): void {
    if (isShared) key.shared += 1;
    else key.exclusive += 1;
    const isTooMany = limit !== undefined && key.shared > limit;
    if (key.exclusive > 1 || (key.exclusive > 0 && key.shared > 0) || isTooMany) this.violations += 1;
    if (fence === undefined || isShared) return;
    // In the order of time the fences of those who held alone can only rise: what the lock protects would let in the one before.
    if (fence <= key.fence) this.violations += 1;
    key.fence = fence;
  }

  #key(name: string): Key {
    let key = this.#keys.get(name);
    if (key === undefined) {
      const never = { lastHolder: undefined, releasedAtNs: undefined, wasCut: false };
      key = {
        exclusive: 0,
        shared: 0,
        fence: Number.NEGATIVE_INFINITY,
        ...never,
        holders: [],
        ticketed: [],
        atOnce: [],
      };
      this.#keys.set(name, key);
    }
    return key;
  }
}

/** Pairs of which the later ticket was granted first. */
function outOfOrder({ ticketed }: Key): number {
  return inversions(by("fence", ticketed).map(({ ticket }) => ticket));
}

/**
 * How many were granted at once though somebody stood in line: had heard so before they asked, and was granted after them. They
 * have no ticket to be set against.
 */
function overtakings({ ticketed, atOnce }: Key): number {
  const line = by("fence", ticketed);
  let queuedAtNs = Number.POSITIVE_INFINITY;
  let count = 0;
  // From the last grant to the first: the earliest of those who were granted later is the one to ask about.
  for (const { fence, sentAtNs } of atOnce.toSorted((a, b) => b.fence - a.fence)) {
    for (let last = line.at(-1); last !== undefined && last.fence > fence; last = line.at(-1)) {
      queuedAtNs = Math.min(queuedAtNs, last.queuedAtNs);
      line.pop();
    }
    if (queuedAtNs < sentAtNs) count += 1;
  }
  return count;
}

function by(member: "fence" | "ticket", list: readonly Ticketed[]): Ticketed[] {
  return list.toSorted((a, b) => a[member] - b[member]);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function jainOf(grants: readonly number[]): number | null {
  const index = jain(grants);
  const fairest = fairestJain(total(grants), grants.length);
  return fairest >= JAIN_MIN || index < UNFAIR * fairest ? index : null;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
