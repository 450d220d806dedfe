/** A store in memory that keeps what it was given, and whose commits a test can hold back or let fail. */

import type { ClaimRecord, RecordImage, SessionRecord } from "../../../src/core/index.ts";
import type { Batch, Store, StoredSpace } from "../../../src/host/ports.ts";

interface Kept {
  readonly claims: Map<number, ClaimRecord>;
  readonly sessions: Map<string, SessionRecord>;
  readonly records: Map<string, RecordImage>;
  serial: number;
}

interface Held {
  readonly what: string;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

export class FakeStore implements Store {
  durable = true;
  readonly epoch = 7;
  /** `held`: loads and commits wait for `finish` or `fail`. `broken`: they throw. */
  mode: "sync" | "held" | "broken" = "sync";
  readonly loads: string[] = [];
  readonly commits: { readonly changes: number; readonly serialReserved?: number }[] = [];
  readonly held: Held[] = [];
  /** Keys that were looked up, and those whose records cannot be read. */
  readonly finds: string[] = [];
  readonly unreadable: Set<string> = new Set();
  hasNoRoom = false;
  /** When it was asked to delete what has expired. */
  readonly sweeps: number[] = [];
  isClosed = false;
  readonly #spaces: Map<string, Kept> = new Map();

  load(space: string): StoredSpace | Promise<StoredSpace> {
    this.loads.push(space);
    // What is not durable is not there any more when it is asked for.
    if (!this.durable) this.#spaces.delete(space);
    return this.#when("load", () => this.#image(space));
  }

  commit(space: string, { changes, changeCount, serialReserved }: Batch): void | Promise<void> {
    this.commits.push(
      serialReserved === undefined ? { changes: changeCount } : { changes: changeCount, serialReserved },
    );
    // As it is now: a store that looked at a record later would see a later state.
    const listed = changes.slice(0, changeCount).map((change) => structuredCloneOf(change));
    return this.#when("commit", () => {
      const kept = this.#kept(space);
      if (serialReserved !== undefined) kept.serial = serialReserved;
      for (const change of listed) {
        if (change.kind === "claim") kept.claims.set(change.claim.ticket, change.claim);
        else if (change.kind === "claim_forgotten") kept.claims.delete(change.ticket);
        else if (change.kind === "session") kept.sessions.set(change.session.id, change.session);
        else if (change.kind === "session_gone") kept.sessions.delete(change.session);
        else if (change.kind === "record") kept.records.set(change.record.key, change.record);
        else if (change.kind === "record_gone") {
          kept.records.delete(change.key);
          this.unreadable.delete(change.key);
        }
      }
    });
  }

  find(space: string, key: string): RecordImage | undefined {
    this.finds.push(key);
    if (this.unreadable.has(key)) throw new Error("the row is damaged");
    return this.#kept(space).records.get(key);
  }

  isFull(): boolean {
    return this.hasNoRoom;
  }

  sweep(now: number, countMax: number): number {
    this.sweeps.push(now);
    const due: (() => void)[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const { records } of this.#spaces.values()) {
      for (const { key, expiresAt } of records.values()) {
        if (expiresAt <= now) due.push(() => records.delete(key));
        else next = Math.min(next, expiresAt);
      }
    }
    for (const drop of due.slice(0, countMax)) drop();
    return due.length > countMax ? now : next;
  }

  /** Keys of all records that are kept. */
  recordKeys(space = "default"): string[] {
    return [...this.#kept(space).records.keys()];
  }

  close(): void {
    this.isClosed = true;
  }

  finish(): void {
    this.held.shift()!.done();
  }

  fail(): void {
    this.held.shift()!.failed(new Error("the disk is full"));
  }

  /** How many claims a space would be loaded with. */
  claimCount(space = "default"): number {
    return this.#kept(space).claims.size;
  }

  #when<T>(what: string, work: () => T): T | Promise<T> {
    if (this.mode === "broken") throw new Error("the disk is gone");
    if (this.mode === "sync") return work();
    return new Promise((resolve, reject) => {
      this.held.push({ what, done: () => resolve(work()), failed: reject });
    });
  }

  #kept(space: string): Kept {
    let kept = this.#spaces.get(space);
    if (kept === undefined) {
      kept = { claims: new Map(), sessions: new Map(), records: new Map(), serial: 100 };
      this.#spaces.set(space, kept);
    }
    return kept;
  }

  #image(space: string): StoredSpace {
    const { claims, sessions, records, serial } = this.#kept(space);
    const running = [...records.values()].filter(({ state }) => state === "running");
    const image = { claims: [...claims.values()], sessions: [...sessions.values()], records: running, waiters: [] };
    return { image, serial };
  }
}

/** Only the members that a record names: the engine's objects know more, and are tied to each other. */
function structuredCloneOf(change: Batch["changes"][number]): Batch["changes"][number] {
  if (change.kind === "claim") {
    const { ticket, asked, session, state, deadline, fence, grantedAt, ttlMs, depth, outcome, by } = change.claim;
    const { nested, unnested, ask, abandoned } = change.claim;
    const claim = { ticket, asked, session, state, deadline, fence, grantedAt, ttlMs, depth, outcome, by };
    return { kind: "claim", claim: { ...claim, nested: nested && [...nested], unnested, ask, abandoned } };
  }
  if (change.kind === "session") {
    const { id, secret, graceMs, meta, user, order, deadline } = change.session;
    return { kind: "session", session: { id, secret, graceMs, meta, user, order, deadline } };
  }
  return change;
}
