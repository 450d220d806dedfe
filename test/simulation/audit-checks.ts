import type { Command } from "../../src/core/command.ts";
import type { Asking, Effect, KeyStatus, Resumed } from "../../src/core/effect.ts";
import type { Seen, SeenClaims, SeenSession } from "./audit-claims.ts";
import { demand } from "./failure.ts";
import type { Report } from "./server.ts";

/** One exclusive holder, or shared ones within the limit. */
export function checkHolders(claims: SeenClaims, key: string): void {
  const holders = claims.holders(key);
  const isAlone = holders.length <= 1;
  const areShared = holders.every((holder) => holder.mode === "shared" && holders.length <= (holder.limit ?? Infinity));
  demand(isAlone || areShared, "two hold what only one may hold", () => ({ key, holders }));
}

/** No lost wake-up: who stands at the head of a queue could not hold now. */
export function checkHead(claims: SeenClaims, key: string, isQuarantined: boolean): void {
  const head = claims.queue(key)[0];
  if (head === undefined || isQuarantined) return;
  const holders = claims.holders(key);
  const isFull = head.mode === "exclusive" ? holders.length > 0 : holders.length >= (head.limit ?? Infinity);
  const isBarred = isFull || holders.some((holder) => holder.mode === "exclusive");
  demand(isBarred, "a wake-up was lost", () => ({ key, head, holders }));
}

/** What was due is over, however late the timer. */
export function checkOverdue(claims: SeenClaims, sessions: Iterable<SeenSession>, now: number): void {
  for (const claim of claims.all()) {
    const deadline = claim.state === "waiting" ? claim.waitsUntil : claim.expiresAt;
    demand(deadline > now, "a claim outlived its deadline", () => ({ claim, now }));
  }
  for (const session of sessions)
    demand(session.endsAt > now, "a session outlived its grace", () => ({ session, now }));
}

/** A status shows exactly the holders and waiters that commands and effects have made. */
export function checkStatus(claims: SeenClaims, told: KeyStatus): void {
  const holders = claims.holders(told.key);
  const waiting = claims.queue(told.key).length;
  const isShown = (claim: Seen): boolean =>
    told.holders.some(
      (shown) =>
        shown.fence === claim.fence &&
        shown.session === claim.session &&
        (shown.expiresAt ?? Infinity) === claim.expiresAt,
    );
  const isRight = told.waiting === waiting && told.holders.length === holders.length && holders.every(isShown);
  demand(isRight, "a status shows something else than what is", () => ({ told, holders, waiting }));
  const asking = claims.queue(told.key).filter(({ ask }) => ask !== undefined);
  const isAsked = ({ session, ask }: Seen, shown: Asking | undefined): boolean =>
    shown?.session === session && shown?.message === ask?.message && shown?.since === ask?.since;
  const asks = told.asks ?? [];
  const areShown = asks.length === asking.length && asking.every((claim, i) => isAsked(claim, asks[i]));
  demand(areShown, "a status shows other asks than there are", () => ({ told, asking }));
}

/** A snapshot shows all live claims of the session, and no others. */
export function checkSnapshot(claims: SeenClaims, effect: Resumed): void {
  const told = effect.claims.filter((claim) => claim.state !== "gone");
  const mine = [...claims.all()].filter((claim) => claim.session === effect.to);
  const isTold = (claim: Seen): boolean =>
    told.some((other) =>
      claim.state === "waiting"
        ? other.ticket === claim.ticket && other.position === positionOf(claims, claim)
        : other.token === claim.token && other.fence === claim.fence,
    );
  const isComplete = told.length === mine.length && mine.every(isTold);
  demand(isComplete, "a snapshot does not show the session's claims", () => ({ told, mine }));
}

/**
 * Exactly one answer per request. An acquire is only judged in a settled step (nothing was due), since what
 * is due may end the very claim that it asks for again.
 */
export function checkAnswers({ command, effects }: Report, isSettled: boolean): void {
  const kinds = command === undefined ? undefined : answersOf(command);
  if (command === undefined || kinds === undefined || (command.kind === "acquire" && !isSettled)) return;
  if (command.kind === "tick") return;
  const [to, request] = "request" in command ? [command.from, command.request] : [command.session, ""];
  const isAnswer = (effect: Effect): boolean =>
    kinds.includes(effect.kind) && effect.to === to && (!("request" in effect) || effect.request === request);
  const answers = effects.filter(isAnswer);
  demand(answers.length === 1, "a request got no answer, or several", () => ({ command, effects }));
}

/** A token that does not hold the key it is shown for gets one answer, and changes nothing. */
export function checkStale({ effects }: Report): void {
  const [answer] = effects;
  const isRejected =
    answer?.kind === "lost" || answer?.kind === "refused" || (answer?.kind === "released" && answer.already);
  demand(effects.length === 1 && isRejected, "a stale token changed something", () => ({ effects }));
}

/**
 * Whether a holder that let go named this claim as its successor: the first of a session for the key, directly after the end of
 * that holder. Nobody else goes past the queue.
 */
export function isNamed(claims: SeenClaims, claim: Seen, at: number, { command, effects }: Report): boolean {
  if (command?.kind !== "hand" || command.key !== claim.key || command.to !== claim.session) return false;
  const isLast = isLetGo(effects[at - 1], command.key);
  return isLast && claims.queue(claim.key).find(({ session }) => session === command.to) === claim;
}

/** A hand-over ends one lock and grants the named one, or it changes nothing and says rightly why. */
export function checkHand(claims: SeenClaims, report: Report, isSettled: boolean): void {
  const { command, effects } = report;
  const answer = effects.at(-1);
  if (command?.kind !== "hand") return;
  if (answer?.kind === "released" && !answer.already) {
    const heir = effects[effects.findIndex((effect) => isLetGo(effect, command.key)) + 1];
    const isHanded = answer.depth === 0 && heir?.kind === "granted" && heir.to === command.to;
    demand(isHanded, "a lock was handed over to nobody", () => ({ command, effects }));
  }
  if (answer?.kind !== "refused" || !isSettled) return;
  demand(effects.length === 1, "a hand-over was refused and changed something", () => ({ effects }));
  const heir = claims.queue(command.key).find(({ session }) => session === command.to);
  if (answer.code === "not_waiting") demand(heir === undefined, "a waiter was not seen", () => ({ command, heir }));
  if (answer.code !== "shared_holders") return;
  const isBarred = heir?.mode === "exclusive" && claims.holders(command.key).length > 1;
  demand(isBarred || report.isQuarantined, "a hand-over was refused for no reason", () => ({ command, heir }));
}

function isLetGo(effect: Effect | undefined, key: string): boolean {
  return effect?.kind === "ended" && effect.outcome === "released" && effect.held && effect.key === key;
}

/** Whether this command shows a token that does not hold its key. */
export function isStale(claims: SeenClaims, command: Command | undefined): boolean {
  if (command === undefined || !("token" in command) || command.token === undefined) return false;
  return claims.holderOf(command.token)?.key !== command.key;
}

/** 1 = next. */
export function positionOf(claims: SeenClaims, claim: Seen): number {
  return claims.queue(claim.key).indexOf(claim) + 1;
}

function answersOf(command: Command): readonly Effect["kind"][] | undefined {
  switch (command.kind) {
    case "open":
      return ["opened", "refused"];
    case "resume":
      return ["resumed", "refused"];
    case "acquire":
      return ["queued", "granted", "ended", "lost", "refused"];
    case "extend":
      return ["extended", "lost", "refused"];
    case "release":
    case "hand":
      return ["released", "lost", "refused"];
    case "ask":
      return ["asked", "refused"];
    case "revoke_key":
    case "revoke_session":
      return ["revoked"];
    case "status":
      return ["status"];
    case "list":
      return ["list"];
    case "cancel":
    case "drop":
    case "bye":
    case "tick":
      return undefined;
    case "begin":
    case "complete":
    case "fail":
    case "extend_attempt":
    case "forget":
    case "record_status":
    case "cancel_begin":
      // The auditor of records looks at these.
      return undefined;
  }
}
