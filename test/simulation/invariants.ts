import type { Acquire, Command } from "../../src/core/command.ts";
import type { Effect, Ended, Granted, Queued, Resumed, SessionEnded } from "../../src/core/effect.ts";
import type { EngineCounts } from "../../src/core/engine.ts";
import {
  checkAnswers,
  checkHand,
  checkHead,
  checkHolders,
  checkOverdue,
  checkSnapshot,
  checkStale,
  checkStatus,
  isNamed,
  isStale,
  positionOf,
} from "./audit-checks.ts";
import { LedgerAuditor } from "./audit-ledger.ts";
import { nameOf, SeenClaims } from "./audit-claims.ts";
import type { Seen, SeenEnd, SeenSession } from "./audit-claims.ts";
import { isEqual } from "./equal.ts";
import { demand } from "./failure.ts";
import type { Report } from "./server.ts";

/**
 * The promises of the lock service, checked from outside: the auditor reads commands and effects, in order, and knows
 * neither the engine nor the model. It hears of a step once it is committed, so it also sees what crashes leave.
 */
export class Auditor {
  readonly #claims = new SeenClaims();
  readonly #sessions = new Map<string, SeenSession>();
  /** How claims ended, by their request: a repeat must hear the same. */
  readonly #ends = new Map<string, SeenEnd>();
  readonly #ledger = new LedgerAuditor();
  #lastFence = 0;
  #lastTicket = 0;
  #lastNow = -Infinity;
  #lastCounts: EngineCounts | undefined;

  /** Checks one committed step, whether or not anybody was told. */
  observe(report: Report): void {
    const { command, effects, now, counts } = report;
    const before = this.#lastCounts;
    // Whatever was due had been served by the step before, so all that is told now is the command's doing.
    const isSettled = command !== undefined && now === this.#lastNow;
    const wasStale = isSettled && isStale(this.#claims, command);
    demand(now >= this.#lastNow, "time ran backwards", () => ({ now, last: this.#lastNow }));
    effects.forEach((effect, i) => this.#see(effect, i, report));
    if (command?.kind === "drop") this.#suspend(command.session, now);

    for (const key of this.#claims.keys()) {
      checkHolders(this.#claims, key);
      checkHead(this.#claims, key, report.isQuarantined);
    }
    checkOverdue(this.#claims, this.#sessions.values(), now);
    checkAnswers(report, isSettled);
    checkHand(this.#claims, report, isSettled);
    if (wasStale) checkStale(report);
    const isRefused = effects.length === 1 && (effects[0]?.kind === "refused" || effects[0]?.kind === "lost");
    if (isSettled && (wasStale || isRefused)) {
      demand(isEqual(before, counts), "a refused command changed something", () => ({ before, counts }));
    }
    const isCounted = counts.claims === this.#claims.count && counts.sessions === this.#sessions.size;
    demand(isCounted, "the counts are not what was told", () => ({ counts, claims: this.#claims.count }));
    this.#lastNow = now;
    this.#lastCounts = counts;
    this.#ledger.observe(report);
  }

  /** The server died: only what outlives a process is left. */
  crash(persist: "outliving" | "all"): void {
    const isAll = persist === "all";
    const survives = (id: string | undefined): boolean => isAll || (this.#sessions.get(id ?? "")?.graceMs ?? 0) > 0;
    this.#ledger.crash(persist, survives);
    if (isAll) return;
    for (const claim of this.#claims.all()) {
      const isCallers = claim.session === undefined;
      const lives = survives(claim.session) || (claim.state === "holding" && (isCallers || claim.keep));
      if (!lives) this.#claims.remove(claim);
      else if (!survives(claim.session)) claim.session = undefined;
    }
    for (const id of this.#sessions.keys()) if (!survives(id)) this.#sessions.delete(id);
  }

  /** All is over and forgotten: nothing may be left anywhere. */
  finish(report: Report): void {
    demand(this.#claims.count === 0, "a claim never ended", () => ({ claims: [...this.#claims.all()] }));
    demand(this.#sessions.size === 0, "a session never ended", () => ({ sessions: [...this.#sessions.keys()] }));
    const left = Object.entries(report.counts).filter(([, count]) => count !== 0);
    demand(left.length === 0, "something is left when all is over", () => ({ left }));
    this.#ledger.finish(report);
  }

  #see(effect: Effect, at: number, report: Report): void {
    switch (effect.kind) {
      case "opened":
        return this.#opened(effect.to, report.command);
      case "resumed":
        return this.#resumed(effect);
      case "session_ended":
        return this.#sessionEnded(effect, at, report);
      case "queued":
        return this.#queued(effect, report);
      case "granted":
        return effect.reentrant ? this.#reentered(effect) : this.#granted(effect, at, report);
      case "asked":
        return this.#asked(report);
      case "ended":
        return this.#ended(effect, report);
      case "extended": {
        const claim = this.#claims.holderOf(effect.token);
        demand(claim?.key === effect.key, "a lease was extended that is over", () => ({ effect }));
        demand(claim.fence === effect.fence, "an extension changed the fence", () => ({ effect, claim }));
        claim.expiresAt = effect.expiresAt;
        return;
      }
      case "status":
        return checkStatus(this.#claims, effect);
      case "lost": {
        const { command } = report;
        const token = command !== undefined && "token" in command ? (command.token ?? "") : "";
        const isHeld = this.#claims.holderOf(token)?.key === effect.key;
        demand(!isHeld, "a holder was told that it has lost its lock", () => ({ effect }));
        return;
      }
      case "list":
        for (const told of effect.keys) checkStatus(this.#claims, told);
        return;
      default:
    }
  }

  // Sessions.

  #opened(id: string, command: Command | undefined): void {
    demand(command?.kind === "open" && !this.#sessions.has(id), "a session began unasked", () => ({ id }));
    this.#sessions.set(id, { id, graceMs: command.graceMs, endsAt: Infinity });
  }

  #suspend(id: string, now: number): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    demand(session.graceMs > 0, "a session without grace lives on without a connection", () => ({ session }));
    if (session.endsAt === Infinity) session.endsAt = now + session.graceMs;
  }

  #resumed(effect: Resumed): void {
    const session = this.#sessions.get(effect.to);
    demand(session !== undefined, "a session was resumed that is over", () => ({ effect }));
    session.endsAt = Infinity;
    checkSnapshot(this.#claims, effect);
  }

  #sessionEnded({ to, reason }: SessionEnded, at: number, { command, effects, now }: Report): void {
    const session = this.#sessions.get(to);
    demand(session !== undefined, "a session ended twice", () => ({ to }));
    const isAsked = command !== undefined && "session" in command && command.session === to;
    const isDropped = isAsked && command.kind === "drop" && session.graceMs === 0;
    const isDue = session.endsAt <= now || (reason === "dropped" ? isDropped : isAsked);
    demand(isDue, "a session ended early or unasked", () => ({ to, reason, session, now }));
    for (const claim of [...this.#claims.all()].filter((other) => other.session === to)) {
      const isKept = claim.keep && claim.state === "holding" && reason !== "revoked";
      demand(isKept, "a session ended and its claim lives", () => ({ claim }));
      claim.session = undefined;
    }
    this.#sessions.delete(to);
    // Once the first of its holdings is gone, nothing else may happen before all of it is gone.
    const waitOutcome = reason === "bye" ? "cancelled" : reason;
    const holdOutcome = reason === "bye" ? "released" : reason;
    let first = at;
    let hasWaits = false;
    while (first > 0) {
      const before = effects[first - 1];
      if (before?.kind !== "ended" || before.to !== to) break;
      if (before.outcome !== (before.held ? holdOutcome : waitOutcome)) break;
      demand(!(hasWaits && before.held), "a leaving session's holding ended before its wait", () => ({ effects }));
      if (!before.held) hasWaits = true;
      first--;
    }
    const strays = effects.slice(0, first).filter((effect) => isDropOf(effect, to) && effect.held);
    demand(reason !== "dropped" || strays.length === 0, "a session left in more than one go", () => ({ effects }));
  }

  // Claims.

  #queued(effect: Queued, { command, now }: Report): void {
    let claim = this.#claims.find(effect.to, effect.request);
    if (claim === undefined) claim = this.#begin(effect.ticket, this.#askedBy(effect, command), now);
    else demand(claim.state === "waiting", "a holder was told to wait", () => ({ effect, claim }));
    demand(claim.ticket === effect.ticket, "a repeat changed the ticket", () => ({ effect, claim }));
    const position = positionOf(this.#claims, claim);
    demand(effect.position === position, "a waiter was told another place than its own", () => ({ effect, position }));
  }

  #granted(effect: Granted, at: number, report: Report): void {
    let claim = this.#claims.find(effect.to, effect.request);
    if (claim?.state === "holding") {
      const isSame = claim.token === effect.token && claim.fence === effect.fence;
      demand(isSame, "a repeat got another grant", () => ({ effect, claim }));
      return;
    }
    const asked = claim === undefined ? this.#askedBy(effect, report.command) : undefined;
    if (asked !== undefined) claim = this.#begin(effect.ticket, asked, report.now);
    demand(claim !== undefined && claim.ticket === effect.ticket, "a grant shows another ticket", () => ({ effect }));
    demand(!report.isQuarantined, "a grant within the quarantine", () => ({ effect }));
    demand(effect.fence > this.#lastFence, "a fence did not rise", () => ({ effect, last: this.#lastFence }));
    this.#lastFence = effect.fence;
    const overtaken = this.#claims.queue(claim.key).find((other) => other.ticket < effect.ticket);
    const isFirst = overtaken === undefined || asked?.steal === true || isNamed(this.#claims, claim, at, report);
    demand(isFirst, "a waiter was overtaken", () => ({ effect, overtaken }));
    demand(claim.waitsUntil >= report.now, "a grant to somebody whose wait was over", () => ({ effect, claim }));
    const session = this.#sessions.get(claim.session ?? "");
    const isOrphan = claim.session !== undefined && (session === undefined || session.endsAt < report.now);
    demand(!isOrphan, "a grant to a session that is over", () => ({ effect, session }));
    const expiresAt = report.now + (claim.ttlMs ?? Infinity);
    demand((effect.expiresAt ?? Infinity) === expiresAt, "a lease does not count from its grant", () => ({ effect }));
    Object.assign(claim, { state: "holding", token: effect.token, fence: effect.fence, expiresAt, ask: undefined });
    checkHolders(this.#claims, claim.key);
  }

  #asked({ command, now }: Report): void {
    demand(command?.kind === "ask", "an ask was taken that nobody made", () => ({ command }));
    const { from, message, withdraw } = command;
    const claim = this.#claims.find(from, command.claim);
    demand(claim?.state === "waiting", "a claim asks for what it does not wait for", () => ({ command, claim }));
    if (withdraw) claim.ask = undefined;
    else if (claim.ask === undefined || claim.ask.message !== message) {
      claim.ask = { ...(message !== undefined && { message }), since: now };
    }
  }

  #reentered(effect: Granted): void {
    const claim = this.#claims.holderOf(effect.token);
    demand(claim?.key === effect.key, "a re-entry into a claim that is over", () => ({ effect }));
    demand(claim.fence === effect.fence, "a re-entry changed the fence", () => ({ effect, claim }));
    const expiresAt = effect.expiresAt ?? Infinity;
    demand(expiresAt >= claim.expiresAt, "a re-entry shortened the lease", () => ({ effect, claim }));
    claim.expiresAt = expiresAt;
  }

  #ended(effect: Ended, { command, now }: Report): void {
    const name = nameOf(effect.to, effect.request);
    const claim = this.#claims.find(effect.to, effect.request);
    if (effect.again) {
      const end = this.#ends.get(name);
      const isSame = claim === undefined && end?.outcome === effect.outcome && end.held === effect.held;
      demand(isSame, "a repeat was told another end", () => ({ effect, end, claim }));
      return;
    }
    this.#ends.set(name, { outcome: effect.outcome, held: effect.held });
    if (claim === undefined) {
      const asked = this.#askedBy(effect, command);
      const isTry = asked.timeoutMs === 0 && effect.outcome === "timed_out" && !effect.held;
      demand(isTry, "a claim ended that did not live", () => ({ effect }));
      return;
    }
    demand(effect.held === (claim.state === "holding"), "an end says wrongly whether it was held", () => ({ effect }));
    if (effect.outcome === "timed_out") {
      demand(claim.waitsUntil <= now, "a wait ended early", () => ({ effect, claim, now }));
    }
    if (effect.outcome === "expired")
      demand(claim.expiresAt <= now, "a lease ended early", () => ({ effect, claim, now }));
    this.#claims.remove(claim);
  }

  #begin(ticket: number, asked: Acquire, now: number): Seen {
    demand(ticket > this.#lastTicket, "a ticket did not rise", () => ({ ticket, last: this.#lastTicket }));
    this.#lastTicket = ticket;
    return this.#claims.add(asked, ticket, now);
  }

  /** The acquire that a first answer answers: it must be the command of this very step. */
  #askedBy(effect: Queued | Granted | Ended, command: Command | undefined): Acquire {
    const isAsked = command?.kind === "acquire" && command.from === effect.to && command.request === effect.request;
    demand(isAsked && command.token === undefined, "an answer that nobody asked for", () => ({ effect }));
    return command;
  }
}

function isDropOf(effect: Effect, session: string): effect is Ended {
  return effect.kind === "ended" && effect.to === session && effect.outcome === "dropped";
}
