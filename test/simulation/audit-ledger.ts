import type { Command } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import type { Begin } from "../../src/core/idempotency/command.ts";
import type { AttemptQueued, Completed, InProgress, Replay, Started } from "../../src/core/idempotency/effect.ts";
import type { LedgerCounts } from "../../src/core/idempotency/ledger.ts";
import { checkAnswered, owned, wordOf } from "./audit-ledger-checks.ts";
import { isEqual } from "./equal.ts";
import { demand } from "./failure.ts";
import type { Report } from "./server.ts";

/** An attempt that runs, as effects tell. */
export interface SeenAttempt {
  readonly asked: Begin;
  readonly key: string;
  readonly attempt: string;
  readonly number: number;
  readonly startedAt: number;
  leaseUntil: number;
}

interface SeenResult {
  readonly attempt: string;
  readonly number: number;
  readonly result: Uint8Array;
  readonly contentType: string;
  readonly expiresAt: number;
}

interface SeenWait {
  readonly asked: Begin;
  readonly deadline: number;
}

/** What is known of a key beside the attempt that runs. */
interface SeenKey {
  fingerprint: string;
  /** Number of its latest attempt. */
  number: number;
  /** From then on, or once it was removed, nothing is known of it any more. */
  freeAt: number;
  result: SeenResult | undefined;
}

/** The promises about idempotency records, checked from outside: from commands and effects alone. */
export class LedgerAuditor {
  readonly #running = new Map<string, SeenAttempt>();
  readonly #waits: SeenWait[] = [];
  readonly #keys = new Map<string, SeenKey>();
  #lastNow = -Infinity;
  #lastCounts: LedgerCounts | undefined;

  observe(report: Report): void {
    const { command, effects, now, ledger: counts } = report;
    const isSettled = command !== undefined && now === this.#lastNow;
    const own = isSettled ? owned(command, this.#running.values()) : undefined;
    for (const effect of effects) if (effect.kind === "session_ended") this.#sessionEnded(effect.to);
    this.#waits.splice(0, this.#waits.length, ...this.#waits.filter(({ asked }) => !this.#isGone(asked, effects)));
    for (const effect of effects) this.#see(effect, report);
    this.#expire(now);

    if (isSettled) checkAnswered(command, effects, own);
    for (const { asked, deadline } of this.#waits) {
      demand(deadline > now, "a wait outlived its deadline", () => ({ asked, now }));
      demand(this.#running.has(asked.key), "somebody waits for an attempt that nobody runs", () => ({ asked }));
    }
    const isCounted = counts.running === this.#running.size && counts.waiting === this.#waits.length;
    demand(isCounted, "the ledger's counts are not what was told", () => ({
      counts,
      running: [...this.#running.keys()],
      waiting: this.#waits.map(({ asked }) => asked),
    }));
    const isRefused = effects.length === 1 && (effects[0]?.kind === "refused" || effects[0]?.kind === "attempt_lost");
    if (isSettled && isRefused) {
      demand(isEqual(this.#lastCounts, counts), "a refused command changed a record", () => ({ effects }));
    }
    this.#lastNow = now;
    this.#lastCounts = counts;
  }

  /** The server died. `survives` says whether a session does. */
  crash(persist: "outliving" | "all", survives: (session: string) => boolean): void {
    const waits = this.#waits.filter(({ asked }) => persist === "all" && asked.session);
    this.#waits.splice(0, this.#waits.length, ...waits);
    for (const { asked } of this.#running.values()) {
      if (asked.session && !survives(asked.from)) this.#sessionEnded(asked.from);
    }
  }

  finish({ ledger }: Report): void {
    const left = Object.values(ledger).reduce((sum, count) => sum + count, 0);
    demand(left === 0, "a record is left in memory when all is over", () => ({ ledger }));
  }

  #see(effect: Effect, report: Report): void {
    const { now } = report;
    switch (effect.kind) {
      case "started":
        return this.#started(effect, report);
      case "replay":
        return this.#replayed(effect, report);
      case "in_progress":
        return this.#inProgress(effect, report);
      case "attempt_queued":
        return this.#queued(effect, report);
      case "completed":
        return this.#completed(effect, report);
      case "failed":
        return this.#removed(effect.key, report);
      case "forgotten": {
        // Whoever starts anew has been told so before.
        this.#expire(now);
        const isThere = this.#running.has(effect.key) || this.#known(effect.key, now) !== undefined;
        demand(!isThere || effect.existed, "a record was forgotten that is said not to exist", () => ({ effect }));
        return this.#removed(effect.key, report);
      }
      case "attempt_extended": {
        const attempt = this.#running.get(effect.key);
        demand(attempt !== undefined, "a lease was extended that is over", () => ({ effect }));
        demand(effect.expiresAt === now + effect.leaseMs, "an extension does not count from now", () => ({ effect }));
        attempt.leaseUntil = effect.expiresAt;
        return;
      }
      case "attempt_lost": {
        const attempt = this.#running.get(effect.key);
        const isItsOwn = attempt?.asked.from === effect.to && attempt.asked.request === effect.request;
        if (!isItsOwn) return;
        demand(effect.reason !== "expired" || attempt.leaseUntil <= now, "a lease ended early", () => ({ effect }));
        this.#over(attempt);
        if (effect.reason === "forgotten") this.#keys.delete(effect.key);
        return;
      }
      default:
    }
  }

  #started(effect: Started, { command, effects, now }: Report): void {
    const { key, number, attempt } = effect;
    const running = this.#running.get(key);
    if (running?.attempt === attempt) {
      const isSame = running.number === number && running.leaseUntil === effect.expiresAt;
      return demand(isSame, "a repeat was told another attempt", () => ({ effect, running }));
    }
    if (running !== undefined) {
      const word = running.leaseUntil <= now ? undefined : wordOf(command, effects, running);
      const isFree = running.leaseUntil <= now || word !== undefined;
      demand(isFree, "two attempts run at once", () => ({ effect, running }));
      this.#over(running);
      if (word === "forgotten") this.#keys.delete(key);
    }
    const isWaiting = this.#find(effect.to, effect.request) !== undefined;
    const asked = this.#take(effect, command, now);
    // An attempt that passes to a waiter goes on counting, whatever the record's time.
    const seen = isWaiting ? this.#keys.get(key) : this.#known(key, now);
    demand(seen?.result === undefined, "work that is done was started again", () => ({ effect, seen }));
    demand(number === (seen?.number ?? 0) + 1, "attempts are not counted one by one", () => ({ effect, seen }));
    this.#demandFingerprint(asked, seen);
    demand(effect.expiresAt === now + asked.leaseMs, "a lease does not count from its start", () => ({
      effect,
      asked,
    }));
    this.#running.set(key, { asked, key, attempt, number, startedAt: now, leaseUntil: effect.expiresAt });
    this.#keys.set(key, { fingerprint: asked.fingerprint, number, freeAt: Infinity, result: undefined });
  }

  #replayed(effect: Replay, { command, now }: Report): void {
    const { key, result, contentType, number } = effect;
    // Those who waited hear it before the one who completes does.
    const isNow = command?.kind === "complete" && command.key === key;
    const done = isNow ? { ...command, number: this.#keys.get(key)?.number } : this.#known(key, now)?.result;
    const isSame = isEqual(done?.result, result) && done?.contentType === contentType;
    demand(isSame && done?.number === number, "a replay is not the result", () => ({ effect, done }));
    this.#demandFingerprint(this.#take(effect, command, now), this.#keys.get(key));
  }

  #inProgress(effect: InProgress, { command, now }: Report): void {
    const { key, to, request, retryAfterMs } = effect;
    const wait = this.#find(to, request);
    const left = (this.#running.get(key)?.leaseUntil ?? now) - now;
    demand(retryAfterMs === Math.max(0, left) || retryAfterMs === 0, "told to wait too long", () => ({ effect, left }));
    if (wait === undefined) {
      const isAsked = command?.kind === "begin" && command.request === request && command.waitMs === 0;
      return demand(isAsked, "in progress, says somebody who was not asked", () => ({ effect }));
    }
    const isCancelled = command?.kind === "cancel_begin" && command.from === to && command.request === request;
    demand(isCancelled || wait.deadline <= now, "a wait ended early", () => ({ effect, wait, now }));
    this.#waits.splice(this.#waits.indexOf(wait), 1);
  }

  #queued(effect: AttemptQueued, { command, now }: Report): void {
    const { to, request, key, position } = effect;
    if (this.#find(to, request) === undefined) {
      const isAsked = command?.kind === "begin" && command.from === to && command.request === request;
      demand(isAsked && command.waitMs > 0, "somebody waits who did not ask to", () => ({ effect }));
      this.#demandFingerprint(command, this.#keys.get(key));
      this.#waits.push({ asked: command, deadline: now + command.waitMs });
    }
    const queue = this.#waits.filter(({ asked }) => asked.key === key);
    const place = queue.findIndex(({ asked }) => asked.from === to && asked.request === request) + 1;
    demand(position === place, "a waiter was told another place than its own", () => ({ effect, place }));
  }

  #completed(effect: Completed, { command, now }: Report): void {
    const { key, already } = effect;
    demand(command?.kind === "complete" && command.key === key, "completed unasked", () => ({ effect }));
    const { attempt, result, contentType } = command;
    const seen = this.#keys.get(key);
    if (already) {
      const isSame = seen?.result?.attempt === attempt && isEqual(seen.result.result, result);
      return demand(isSame && seen.freeAt > now, "completed already, which it was not", () => ({ effect, seen }));
    }
    const running = this.#running.get(key);
    const isOwn = running?.attempt === attempt && running.leaseUntil > now;
    demand(isOwn, "an attempt completed that was over", () => ({ effect, running, now }));
    this.#running.delete(key);
    const expiresAt = now + running.asked.ttlMs;
    const { number, asked } = running;
    const done = { attempt, number, result, contentType, expiresAt };
    this.#keys.set(key, { fingerprint: asked.fingerprint, number, freeAt: expiresAt, result: done });
    const left = this.#waits.filter((wait) => wait.asked.key === key);
    demand(left.length === 0, "somebody waits for what is done", () => ({ left }));
  }

  /** By fail, forget or cancel: the next attempt, if there is one, was started in the same step before. */
  #removed(key: string, { command, effects, now }: Report): void {
    const running = this.#running.get(key);
    if (running !== undefined && owned(command, [running]) === undefined) return;
    // Started anew by the very word that made the record forgotten.
    const isNew = running?.number === 1 && running.startedAt === now;
    if (isNew && effects.some((effect) => effect.kind === "started" && effect.attempt === running.attempt)) return;
    this.#running.delete(key);
    this.#keys.delete(key);
  }

  #sessionEnded(id: string): void {
    for (const attempt of this.#running.values()) {
      if (attempt.asked.session && attempt.asked.from === id) this.#over(attempt);
    }
  }

  /** A lost attempt leaves its fingerprint and number for a while. */
  #over(attempt: SeenAttempt): void {
    this.#running.delete(attempt.key);
    const seen = this.#keys.get(attempt.key);
    if (seen !== undefined) seen.freeAt = attempt.startedAt + attempt.asked.ttlMs;
  }

  /** A caller is not told that its lease is over. */
  #expire(now: number): void {
    for (const attempt of this.#running.values()) {
      if (attempt.leaseUntil > now) continue;
      demand(!attempt.asked.session, "a session was not told that its lease is over", () => ({ attempt, now }));
      this.#over(attempt);
    }
  }

  /** What counts of the key. */
  #known(key: string, now: number): SeenKey | undefined {
    const seen = this.#keys.get(key);
    return seen !== undefined && seen.freeAt > now ? seen : undefined;
  }

  #find(from: string, request: string): SeenWait | undefined {
    return this.#waits.find(({ asked }) => asked.from === from && asked.request === request);
  }

  #isGone(asked: Begin, effects: readonly Effect[]): boolean {
    return asked.session && effects.some((effect) => effect.kind === "session_ended" && effect.to === asked.from);
  }

  /** The begin that a last word answers: one that waits, first come first served, or the command of this step. */
  #take({ to, request, key }: Started | Replay, command: Command | undefined, now: number): Begin {
    const wait = this.#find(to, request);
    if (wait !== undefined) {
      const first = this.#waits.find(({ asked }) => asked.key === key);
      demand(first === wait, "a waiter was overtaken", () => ({ to, request, first }));
      demand(wait.deadline >= now, "somebody was served whose wait was over", () => ({ wait, now }));
      this.#waits.splice(this.#waits.indexOf(wait), 1);
      return wait.asked;
    }
    const isAsked = command?.kind === "begin" && command.from === to && command.request === request;
    demand(isAsked, "an answer that no begin asked for", () => ({ to, request, key }));
    return command;
  }

  #demandFingerprint(asked: Begin, seen: SeenKey | undefined): void {
    const isSame = seen === undefined || seen.fingerprint === asked.fingerprint;
    demand(isSame, "one key served two payloads", () => ({ asked, seen }));
  }
}
