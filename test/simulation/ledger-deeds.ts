import type { Command } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import type { Begin, Complete } from "../../src/core/idempotency/command.ts";
import type { Peer } from "./clients.ts";
import type { LedgerModel } from "./ledger-model.ts";
import type { LedgerDeed, WorldOptions } from "./options.ts";
import type { Random } from "./random.ts";

/** Deeds about records that are a command about them. */
export type LedgerSaying = Exclude<LedgerDeed, "sweep" | "session" | "crash">;

/** An attempt that somebody was told of. */
interface Own {
  readonly from: string;
  readonly key: string;
  readonly attempt: string;
}

const PAST_MAX = 30;

/** Turns a deed about records into a command that somebody may send now, and remembers what was sent and told. */
export class LedgerDeeds {
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #peers: () => readonly Peer[];
  readonly #ledger: () => LedgerModel;
  readonly #begins: Begin[] = [];
  readonly #completes: Complete[] = [];
  readonly #attempts: Own[] = [];
  #requests = 0;

  /** `ledger` tells what is really there, so that most deeds do something. */
  constructor(options: WorldOptions, random: Random, peers: () => readonly Peer[], ledger: () => LedgerModel) {
    this.#options = options;
    this.#random = random;
    this.#peers = peers;
    this.#ledger = ledger;
  }

  note(command: Command): void {
    if (command.kind === "begin") push(this.#begins, command);
    if (command.kind === "complete") push(this.#completes, command);
  }

  hear(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.kind === "started")
        push(this.#attempts, { from: effect.to, key: effect.key, attempt: effect.attempt });
    }
  }

  /** Undefined when nobody is there who could do it. */
  say(deed: LedgerSaying): Command | undefined {
    const random = this.#random;
    switch (deed) {
      case "begin":
        return this.#begin("f");
      case "beginOther":
        return this.#begin(random.pick(["", "g"]));
      case "repeatBegin":
        return this.#asked();
      case "repeatBeginOther":
        return this.#other(this.#asked());
      case "complete":
        return this.#complete(this.#own());
      case "repeatComplete": {
        const complete = pickOf(random, this.#completes.slice(-4));
        return complete && { ...complete, request: this.#request(), ...(random.chance(0.3) && this.#result()) };
      }
      case "fail":
      case "extendAttempt":
        return this.#use(deed, this.#own());
      case "staleAttempt":
        return this.#use(random.pick(["fail", "extendAttempt", "complete", "forgetOwn"]), this.#stale());
      case "forget":
        return { kind: "forget", from: "@operator", request: this.#request(), key: this.#key() };
      case "forgetOwn":
        return this.#use(deed, pickOf(random, this.#attempts));
      case "recordStatus":
        return { kind: "record_status", from: "@operator", request: this.#request(), key: this.#key() };
      case "cancelBegin": {
        const asked = this.#asked();
        return asked && { kind: "cancel_begin", from: asked.from, request: asked.request };
      }
    }
  }

  #begin(fingerprint: string): Begin | undefined {
    const random = this.#random;
    const { callers, anonymous, recordTtlMaxMs, ttlMaxMs, timeoutMaxMs } = this.#options;
    const peers = random.chance(0.05) ? this.#peers() : this.#peers().filter(({ isConnected }) => isConnected);
    const isCaller = callers > 0 && (peers.length === 0 || random.chance(anonymous / 2));
    const from = isCaller ? `@${random.between(1, callers)}` : pickOf(random, peers)?.id;
    if (from === undefined) return undefined;
    return {
      kind: "begin",
      from,
      request: this.#request(),
      session: !isCaller,
      key: this.#key(),
      fingerprint,
      ttlMs: this.#duration(recordTtlMaxMs),
      leaseMs: this.#duration(ttlMaxMs),
      waitMs: random.chance(0.25) ? 0 : this.#duration(timeoutMaxMs),
      newAttempt: "",
    };
  }

  /** The same request for something else. */
  #other(asked: Begin | undefined): Begin | undefined {
    if (asked === undefined) return undefined;
    return this.#random.pick([
      { ...asked, key: this.#key() },
      { ...asked, fingerprint: "h" },
      { ...asked, ttlMs: asked.ttlMs + 1 },
      { ...asked, leaseMs: asked.leaseMs + 1 },
      { ...asked, waitMs: asked.waitMs + 1 },
    ]);
  }

  #use(deed: "fail" | "extendAttempt" | "complete" | "forgetOwn", own: Own | undefined): Command | undefined {
    if (own === undefined) return undefined;
    const about = { from: own.from, request: this.#request(), key: own.key, attempt: own.attempt };
    if (deed === "complete") return this.#complete(own);
    if (deed === "extendAttempt") {
      return { kind: "extend_attempt", ...about, leaseMs: this.#duration(this.#options.ttlMaxMs) };
    }
    return { kind: deed === "fail" ? "fail" : "forget", ...about };
  }

  #complete(own: Own | undefined): Complete | undefined {
    if (own === undefined) return undefined;
    return { kind: "complete", ...own, request: this.#request(), ...this.#result() };
  }

  /** Few different ones, so that equal results happen, and results that differ in little. */
  #result(): { result: Uint8Array; contentType: string } {
    const random = this.#random;
    const bytes = random.pick([[], [1], [2], [1, 2], [1, 3]]);
    return { result: Uint8Array.from(bytes), contentType: random.pick(["a", "a", "b"]) };
  }

  /** An attempt that somebody believes to run; mostly it does. */
  #own(): Own | undefined {
    const running = this.#ledger().running();
    const right = this.#attempts.filter(({ attempt }) => running.some((record) => record.attempt === attempt));
    return pickOf(this.#random, this.#random.chance(0.85) ? right : this.#attempts);
  }

  /** A token of before, mostly that of a record's latest attempt, which rests; or one that runs, shown for another key. */
  #stale(): Own | undefined {
    const random = this.#random;
    const resting = this.#ledger().records.filter(({ state }) => state !== "running");
    const latest = this.#attempts.filter(({ attempt }) => resting.some((record) => record.attempt === attempt));
    const own = pickOf(random, latest.length > 0 && random.chance(0.5) ? latest : this.#attempts);
    if (own === undefined || this.#random.chance(0.7)) return own;
    return this.#random.chance(0.5) ? { ...own, key: this.#key() } : { ...own, attempt: "never minted" };
  }

  /** A begin of before; mostly one that lives. */
  #asked(): Begin | undefined {
    const random = this.#random;
    const living = this.#ledger().begins();
    const isLiving = (begin: Begin): boolean =>
      living.some(({ from, request }) => from === begin.from && request === begin.request);
    return pickOf(random, random.chance(0.7) ? this.#begins.filter(isLiving) : this.#begins);
  }

  /** Few keys, so that there is a crowd at each. */
  #key(): string {
    const { keys } = this.#options;
    return keys[this.#random.between(0, Math.min(3, keys.length) - 1)] ?? "";
  }

  /** At least one tick, often short. */
  #duration(maxMs: number): number {
    const random = this.#random;
    const { tickMs } = this.#options;
    const ticks = Math.ceil(maxMs / tickMs);
    return random.between(1, random.chance(0.5) ? Math.ceil(ticks / 10) : ticks) * tickMs;
  }

  #request(): string {
    // The same names as requests for locks have: they must not meet.
    return `r${++this.#requests}`;
  }
}

function pickOf<T>(random: Random, choices: readonly T[]): T | undefined {
  return choices.length === 0 ? undefined : random.pick(choices);
}

function push<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > PAST_MAX) list.shift();
}
