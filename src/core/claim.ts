import type { Acquire, Mode } from "./command.ts";
import type { Due } from "./deadlines.ts";
import type { By } from "./effect.ts";
import type { Latch } from "./latch.ts";
import { type ClaimEvent, type ClaimState, next, type Outcome } from "./lifecycle.ts";
import type { AskRecord, ClaimRecord, NestRecord } from "./record.ts";
import type { Session } from "./session.ts";

/** What is said with yes or no, as bits of one number. */
const SHARED = 1;
const OF_SESSION = 2;
const NEST = 4;
const STEAL = 8;
const KEEP = 16;
const ABANDONED = 32;
const STORED = 64;

/** What few claims have, together. Made with the first of it. */
interface Rare {
  readonly limit: number | undefined;
  readonly meta: string | undefined;
  readonly message: string | undefined;
  /** The lease as first asked: by it a repeat is recognised. */
  readonly ttlAskedMs: number | undefined;
  depth: number;
  nested: NestRecord[] | undefined;
  unnested: NestRecord | undefined;
  ask: AskRecord | undefined;
  by: By | undefined;
}

/**
 * One request for one key and the lease that it becomes. It stands in exactly one list (its key's queue, its key's
 * holders, or the remembered) through its own links, so that leaving from the middle is O(1).
 *
 * There may be a million: what was asked is taken out of its command, texts that others have are shared with them, and numbers that most
 * claims do not have yet are undefined, since V8 gives each number with a fraction, or past 2³¹, 16 bytes of its own.
 */
export class Claim implements ClaimRecord, Due {
  readonly ticket: number;
  readonly request: string;
  /** Known to others from its grant on. */
  readonly token: string;
  readonly timeoutMs: number | undefined;
  previous: Claim | undefined = undefined;
  following: Claim | undefined = undefined;
  slot = -1;
  /** Its session, or only the name of whoever asked: a caller, or a session that it outlived. */
  #asker: Session | string;
  /** Its latch while it lives. */
  #place: Latch | string;
  #stage: "waiting" | "holding" | Outcome = "waiting";
  #flags: number;
  #deadline: number | undefined = undefined;
  #fence: number | undefined = undefined;
  #grantedAt: number | undefined = undefined;
  #ttlMs: number | undefined;
  #rare: Rare | undefined = undefined;

  constructor(ticket: number, asked: Acquire, owner: Session | undefined) {
    this.ticket = ticket;
    this.request = asked.request;
    this.token = asked.newToken;
    this.timeoutMs = asked.timeoutMs;
    this.#asker = owner ?? asked.from;
    this.#place = asked.key;
    this.#flags = flagsOf(asked);
    this.#ttlMs = asked.ttlMs;
    if (asked.limit !== undefined || asked.meta !== undefined || asked.message !== undefined) this.#rarely(asked);
  }

  get order(): number {
    return this.ticket;
  }

  get key(): string {
    return typeof this.#place === "string" ? this.#place : this.#place.key;
  }

  /** Set while the claim lives. */
  get latch(): Latch | undefined {
    return typeof this.#place === "string" ? undefined : this.#place;
  }

  set latch(latch: Latch | undefined) {
    this.#place = latch ?? this.key;
  }

  /** A session's id or a caller's scope. */
  get from(): string {
    return typeof this.#asker === "string" ? this.#asker : this.#asker.id;
  }

  /** The session that the claim ends with. */
  get owner(): Session | undefined {
    return typeof this.#asker === "string" ? undefined : this.#asker;
  }

  get session(): string | undefined {
    return this.owner?.id;
  }

  /** It goes on without its session. */
  detach(): void {
    this.#asker = this.from;
  }

  /** Whether a session asked for it, be it over or not. */
  get isOfSession(): boolean {
    return this.#is(OF_SESSION);
  }

  get mode(): Mode {
    return this.#is(SHARED) ? "shared" : "exclusive";
  }

  get limit(): number | undefined {
    return this.#rare?.limit;
  }

  get isKept(): boolean {
    return this.#is(KEEP);
  }

  /** JSON text that others may see. */
  get meta(): string | undefined {
    return this.#rare?.meta;
  }

  get state(): ClaimState {
    return this.#stage === "waiting" || this.#stage === "holding" ? this.#stage : "gone";
  }

  get outcome(): Outcome | undefined {
    return this.#stage === "waiting" || this.#stage === "holding" ? undefined : this.#stage;
  }

  move(event: ClaimEvent): void {
    const state = next(this.state, event);
    // Whatever ends a claim has the name of the outcome.
    this.#stage = state === "gone" ? (event as Outcome) : state;
  }

  get deadline(): number {
    return this.#deadline ?? Number.POSITIVE_INFINITY;
  }

  set deadline(at: number) {
    this.#deadline = at === Number.POSITIVE_INFINITY ? undefined : at;
  }

  get fence(): number {
    return this.#fence ?? 0;
  }

  get grantedAt(): number {
    return this.#grantedAt ?? 0;
  }

  granted(fence: number, at: number): void {
    this.#fence = fence;
    this.#grantedAt = at;
  }

  /** Whether it was ever granted, so that its token is known. */
  get wasGranted(): boolean {
    return this.#fence !== undefined;
  }

  get ttlMs(): number | undefined {
    return this.#ttlMs;
  }

  set ttlMs(ttlMs: number | undefined) {
    if (ttlMs === this.#ttlMs) return;
    this.#rarely();
    this.#ttlMs = ttlMs;
  }

  get depth(): number {
    return this.#fence === undefined ? 0 : (this.#rare?.depth ?? 1);
  }

  set depth(depth: number) {
    if (depth !== this.depth) this.#rarely().depth = depth;
  }

  get nested(): NestRecord[] | undefined {
    return this.#rare?.nested;
  }

  set nested(nested: NestRecord[] | undefined) {
    this.#rarely().nested = nested;
  }

  get unnested(): NestRecord | undefined {
    return this.#rare?.unnested;
  }

  set unnested(unnested: NestRecord | undefined) {
    this.#rarely().unnested = unnested;
  }

  get ask(): AskRecord | undefined {
    return this.#rare?.ask;
  }

  /** Only for the latch, which knows who asks. */
  set ask(ask: AskRecord | undefined) {
    this.#rarely().ask = ask;
  }

  get by(): By | undefined {
    return this.#rare?.by;
  }

  set by(by: By | undefined) {
    if (by !== undefined) this.#rarely().by = by;
  }

  get abandoned(): boolean {
    return this.#is(ABANDONED);
  }

  abandon(): void {
    this.#flags |= ABANDONED;
  }

  /** Whether a store has been told of this claim. */
  get stored(): boolean {
    return this.#is(STORED);
  }

  set stored(stored: boolean) {
    this.#flags = stored ? this.#flags | STORED : this.#flags & ~STORED;
  }

  /** The acquire that made the claim, put together again. */
  get asked(): Acquire {
    const { from, request, key, mode, timeoutMs, token } = this;
    const rare = this.#rare;
    const ttlMs = rare === undefined ? this.#ttlMs : rare.ttlAskedMs;
    return {
      kind: "acquire",
      from,
      request,
      session: this.isOfSession,
      key,
      mode,
      ...(rare?.limit === undefined ? undefined : { limit: rare.limit }),
      ...(timeoutMs === undefined ? undefined : { timeoutMs }),
      ...(ttlMs === undefined ? undefined : { ttlMs }),
      ...(this.#is(NEST) ? { nest: true } : undefined),
      ...(this.#is(STEAL) ? { steal: true } : undefined),
      ...(this.#is(KEEP) ? { keep: true } : undefined),
      ...(rare?.meta === undefined ? undefined : { meta: rare.meta }),
      ...(rare?.message === undefined ? undefined : { message: rare.message }),
      newToken: token,
    };
  }

  /** A claim as it was stored, without its lists and tables. */
  static from(record: ClaimRecord, owner: Session | undefined): Claim {
    const claim = new Claim(record.ticket, record.asked, owner);
    claim.#stage = record.outcome ?? (record.state as "waiting" | "holding");
    claim.deadline = record.deadline;
    if (record.fence !== 0) claim.granted(record.fence, record.grantedAt);
    claim.ttlMs = record.ttlMs;
    claim.depth = record.depth;
    claim.by = record.by;
    if (record.nested !== undefined) claim.nested = [...record.nested];
    if (record.unnested !== undefined) claim.unnested = record.unnested;
    if (record.ask !== undefined) claim.ask = record.ask;
    if (record.abandoned) claim.abandon();
    claim.stored = true;
    return claim;
  }

  #is(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  #rarely(asked?: Acquire): Rare {
    return (this.#rare ??= {
      limit: asked?.limit,
      meta: asked?.meta,
      message: asked?.message,
      ttlAskedMs: this.#ttlMs,
      depth: 1,
      nested: undefined,
      unnested: undefined,
      ask: undefined,
      by: undefined,
    });
  }
}

function flagsOf({ mode, session, nest, steal, keep }: Acquire): number {
  return (
    (mode === "shared" ? SHARED : 0) |
    (session ? OF_SESSION : 0) |
    (nest === true ? NEST : 0) |
    (steal === true ? STEAL : 0) |
    (keep === true ? KEEP : 0)
  );
}
