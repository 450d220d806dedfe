/** What a session or a caller is told: from effects, in engine time, to the shapes of the wire. */

import type { By, ClaimSnapshot, Effect, Holder, KeyStatus, RefusalCode } from "../core/index.ts";
import { PROBLEMS, type ProblemCode } from "../protocol/problems.ts";
import type { ByTold, ClaimTold, Granted, HolderTold, KeyTold, ServerFrame } from "../protocol/server-frames.ts";
import type { AskShown } from "../protocol/watch-told.ts";
import { idempotencyFrame } from "./idempotency-wire.ts";
import type { KeyNames } from "./keys.ts";
import type { Clock } from "./ports.ts";

/** Effects that answer or inform; the others are the business of `Sessions`. */
export type Told = Exclude<Effect, { kind: "opened" | "resumed" | "session_ended" }>;
type Of<Kind extends Effect["kind"]> = Extract<Effect, { kind: Kind }>;

/** For refusals whose cause is a limit: how soon there may be room. */
const RETRY_AFTER_MS = 1000;

/** What was wrong, in words that show no token and no secret. */
export const DETAILS: Readonly<Record<RefusalCode, string>> = {
  limit_mismatch: "the key is in use with another limit, or without one",
  depth_limit: "the lock is nested as deep as it may be",
  request_mismatch: "this id was used before, with other arguments",
  unknown_token: "this token is not known for this key",
  session_ended: "the session is over",
  not_waiting: "no such claim waits for the key",
  shared_holders: "others hold the key as well, so that this waiter could not hold it yet",
  limit: "a limit is reached",
  fingerprint_mismatch: "the key was used before, with another fingerprint",
  result_mismatch: "the attempt was completed before, with another result",
  unavailable: "the record cannot be read or written",
};

export class Wire {
  readonly #clock: Clock;
  readonly #keys: KeyNames;

  constructor(clock: Clock, keys: KeyNames) {
    this.#clock = clock;
    this.#keys = keys;
  }

  /** The frame for an effect; undefined where the session has nothing to learn from it. */
  frame(effect: Told): ServerFrame | undefined {
    const id = effect.request;
    switch (effect.kind) {
      case "queued":
        return { t: "queued", id, ticket: effect.ticket, position: effect.position };
      case "granted":
        return this.#granted(effect);
      case "ended":
        return this.#ended(effect);
      case "lost":
        return { t: "lost", id, key: this.#keys.outward(effect.key), reason: effect.reason, ...byMember(effect.by) };
      case "extended": {
        const { fence, ttlMs: ttl, expiresAt } = effect;
        const key = this.#keys.outward(effect.key);
        return { t: "extended", id, key, fence, ttl, expires_in: this.expiresIn(expiresAt) };
      }
      case "released":
        return { t: "released", id, depth: effect.depth, ...(effect.already ? { already: true } : undefined) };
      case "asked":
        return { t: "access_requested", id };
      case "revoked":
        return { t: "revoked", id, count: effect.count };
      case "status":
        return { t: "status", id, ...this.key(effect) };
      case "list":
        return { t: "list", id, ...this.list(effect) };
      case "refused":
        return refusedFrame(id, effect.code, DETAILS[effect.code], effect.limit);
      default:
        return idempotencyFrame(effect, this);
    }
  }

  outward(key: string): string {
    return this.#keys.outward(key);
  }

  /** What is left of a lease, rounded down: the client must not believe in more. */
  expiresIn(expiresAt: number): number {
    return Math.max(0, Math.floor(expiresAt - this.#clock.now()));
  }

  /** Whole seconds since the epoch, rounded down. */
  epochSeconds(at: number): number {
    return Math.floor((this.#clock.wall() + at - this.#clock.now()) / 1000);
  }

  /** Both, at one look at the clock. */
  lease(expiresAt: number): { readonly expires_in: number; readonly expires_at: number } {
    const left = expiresAt - this.#clock.now();
    return {
      expires_in: Math.max(0, Math.floor(left)),
      expires_at: Math.floor((this.#clock.wall() + left) / 1000),
    };
  }

  key(status: KeyStatus): KeyTold {
    const { holders, waiting, limit, queue } = status;
    return {
      key: this.#keys.outward(status.key),
      status: holders.length > 0 ? "held" : "free",
      holders: holders.map((holder) => this.#holder(holder)),
      waiting,
      ...(limit === undefined ? undefined : { limit }),
      ...(queue === undefined ? undefined : { queue }),
    };
  }

  /** Undefined: nobody asks. */
  asks({ asks }: KeyStatus): AskShown[] | undefined {
    return asks?.map(({ session, user, message, meta, since }) => ({
      ...(session === undefined ? undefined : { session }),
      ...(user === undefined ? undefined : { user }),
      ...(message === undefined ? undefined : { message }),
      ...(meta === undefined ? undefined : { meta: JSON.parse(meta) as unknown }),
      since: this.epochSeconds(since),
    }));
  }

  list(list: Of<"list">): { readonly keys: KeyTold[]; readonly next?: string } {
    const keys = list.keys.map((status) => this.key(status));
    const last = keys.at(-1);
    return list.more && last !== undefined ? { keys, next: last.key } : { keys };
  }

  claim(claim: ClaimSnapshot): ClaimTold {
    const { request: id, key, state, mode, ticket, position, token, fence, depth, outcome } = claim;
    const { ttlMs: ttl, expiresAt } = claim;
    return {
      id,
      key: this.#keys.outward(key),
      state,
      mode,
      ticket,
      ...(position === undefined ? undefined : { position }),
      ...(token === undefined ? undefined : { token }),
      ...(fence === undefined ? undefined : { fence }),
      ...(depth === undefined ? undefined : { depth }),
      ...(ttl === undefined ? undefined : { ttl }),
      ...(expiresAt === undefined ? undefined : { expires_in: this.expiresIn(expiresAt) }),
      ...(outcome === undefined ? undefined : { outcome }),
    };
  }

  #granted(effect: Of<"granted">): Granted {
    const { request: id, token, fence, mode, reentrant, depth, ttlMs: ttl, expiresAt } = effect;
    const granted = {
      t: "granted",
      id,
      key: this.#keys.outward(effect.key),
      token,
      fence,
      mode,
      reentrant,
      depth,
    } as const;
    if (ttl === undefined || expiresAt === undefined) return granted;
    return { ...granted, ttl, expires_in: this.expiresIn(expiresAt) };
  }

  #ended(effect: Of<"ended">): ServerFrame | undefined {
    const { request: id, outcome, by } = effect;
    switch (outcome) {
      case "timed_out":
        return { t: "timeout", id };
      case "cancelled":
        return { t: "cancelled", id };
      case "released":
        // Its own release is answered as a release; only a repeated acquire has no other answer than this.
        if (by === undefined && effect.again !== true) return undefined;
        break;
      default:
    }
    return { t: "lost", id, key: this.#keys.outward(effect.key), reason: outcome, ...byMember(by) };
  }

  #holder(holder: Holder): HolderTold {
    const { session, user, mode, fence, since, expiresAt, meta } = holder;
    return {
      ...(session === undefined ? undefined : { session }),
      ...(user === undefined ? undefined : { user }),
      mode,
      fence,
      since: this.epochSeconds(since),
      ...(expiresAt === undefined ? undefined : { expires_in: this.expiresIn(expiresAt) }),
      ...(meta === undefined ? undefined : { meta: JSON.parse(meta) as unknown }),
    };
  }
}

export function refusedFrame(id: string, code: ProblemCode, detail: string, limit?: string): ServerFrame {
  const refused = { t: "refused", id, code, detail, retryable: PROBLEMS[code].retryable } as const;
  return limit === undefined ? refused : { ...refused, limit, retry_after_ms: RETRY_AFTER_MS };
}

function byTold(by: By): ByTold {
  const { session, meta, message } = by;
  return {
    ...(session === undefined ? undefined : { session }),
    ...(meta === undefined ? undefined : { meta: JSON.parse(meta) as unknown }),
    ...(message === undefined ? undefined : { message }),
  };
}

function byMember(by: By | undefined): { by?: ByTold } | undefined {
  return by === undefined ? undefined : { by: byTold(by) };
}
