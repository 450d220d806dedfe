import {
  type Acquire,
  type LockCommand,
  type Effect,
  Engine,
  type EngineOptions,
  type Image,
  Outbox,
} from "../../src/core/index.ts";

type AcquireOptions = Partial<Omit<Acquire, "kind" | "from" | "request" | "key">>;

/**
 * One engine with a clock that the test turns, and short words for commands. Every command returns the effects of its step.
 * Request ids are given by the test; the token of request `r` of `from` is `from/r`.
 */
export class Space {
  now = 0;
  readonly engine: Engine;
  readonly #outbox = new Outbox();
  #requests = 0;

  constructor(options: EngineOptions = {}, { isWatched = false } = {}) {
    this.engine = new Engine(options);
    this.#outbox.isWatched = isWatched;
  }

  step(command: LockCommand): Effect[] {
    this.#outbox.clear();
    this.engine.step(command, this.now, this.#outbox);
    return this.#outbox.effects.slice(0, this.#outbox.effectCount);
  }

  /** What the last step wants stored, as records of now. */
  get changes(): string[] {
    return this.#outbox.changes.slice(0, this.#outbox.changeCount).map((change) => {
      if (change.kind === "claim") return `claim ${change.claim.asked.request} ${change.claim.state}`;
      if (change.kind === "session") return `session ${change.session.id}`;
      return change.kind;
    });
  }

  /** The keys that the last step touched. */
  get touched(): string[] {
    return [...this.#outbox.touched];
  }

  restore(image: Image): Effect[] {
    this.#outbox.clear();
    this.engine.restore(image, this.now, this.#outbox);
    return this.#outbox.effects.slice(0, this.#outbox.effectCount);
  }

  at(now: number): Effect[] {
    this.now = now;
    return this.step({ kind: "tick" });
  }

  open(session: string, graceMs = 0, meta?: string): Effect[] {
    return this.step({
      kind: "open",
      session,
      secret: `secret of ${session}`,
      graceMs,
      ...(meta === undefined ? {} : { meta }),
    });
  }

  acquire(from: string, request: string, key: string, options: AcquireOptions = {}): Effect[] {
    const isCaller = from.startsWith("@");
    return this.step({
      kind: "acquire",
      from,
      request,
      session: !isCaller,
      key,
      mode: "exclusive",
      ...(isCaller ? { ttlMs: 30_000, timeoutMs: 10_000 } : {}),
      newToken: `${from}/${request}`,
      ...options,
    });
  }

  release(from: string, key: string, token: string, request = `release ${++this.#requests}`): Effect[] {
    return this.step({ kind: "release", from, request, key, token });
  }

  extend(from: string, key: string, token: string, ttlMs: number): Effect[] {
    return this.step({ kind: "extend", from, request: `extend ${++this.#requests}`, key, token, ttlMs });
  }

  hand(from: string, key: string, token: string, to: string, request = `hand ${++this.#requests}`): Effect[] {
    return this.step({ kind: "hand", from, request, key, token, to });
  }

  ask(from: string, claim: string, message?: string, withdraw = false): Effect[] {
    const words = message === undefined ? {} : { message };
    return this.step({ kind: "ask", from, request: `ask ${++this.#requests}`, claim, ...words, withdraw });
  }

  cancel(from: string, request: string, forget = false): Effect[] {
    return this.step({ kind: "cancel", from, request, forget });
  }

  drop(session: string): Effect[] {
    return this.step({ kind: "drop", session });
  }

  resume(session: string, secret = `secret of ${session}`): Effect[] {
    return this.step({ kind: "resume", session, secret });
  }

  status(key: string, of?: readonly string[]): Extract<Effect, { kind: "status" }> {
    const told = this.step({ kind: "status", from: "@", request: "status", key, ...(of && { of }) });
    const effect = told.at(-1);
    if (effect?.kind !== "status") throw new Error("no status");
    return effect;
  }
}

/** Effects as short lines, for tests that are about who got what in which order. */
export function lines(effects: readonly Effect[]): string[] {
  return effects.map((effect) => {
    const who =
      "request" in effect && effect.request !== "" ? `${effect.to} ${effect.request}` : "to" in effect ? effect.to : "";
    switch (effect.kind) {
      case "granted":
        return `${who}: granted${effect.reentrant ? ` again, depth ${effect.depth}` : ""}`;
      case "queued":
        return `${who}: queued ${effect.position}`;
      case "ended":
        return `${who}: ${effect.outcome}${effect.again === true ? " (again)" : ""}`;
      case "lost":
        return `${who}: lost, ${effect.reason}`;
      case "released":
        return `${who}: released to ${effect.depth}${effect.already ? " already" : ""}`;
      case "refused":
        return `${who}: refused ${effect.code}${effect.limit === undefined ? "" : ` ${effect.limit}`}`;
      case "session_ended":
        return `${who}: session ended, ${effect.reason}`;
      case "revoked":
        return `${who}: revoked ${effect.count}`;
      default:
        return `${who}: ${effect.kind}`;
    }
  });
}
