/**
 * What a session with a grace does when its connection is lost and when it is back. Loaded by those alone, before they connect.
 *
 * In the words of `heartbeat.ts`: with a grace the server suspends the session at c, the moment it learns of the close or
 * h + deadline, and ends it at c + grace. Of c we only know c >= h >= s: a proxy may have told the server of a drop right after
 * that frame and told us nothing, or much later. So while disconnected only s + grace is safe, not "now + grace" and not
 * s + deadline + grace. Hence holdings are believed until s + grace - margin, which may be over already. A grace that shall bridge
 * a reconnect must therefore be longer than the ping interval plus the time the reconnect takes.
 */

import { CLOSE_SESSION_ENDED } from "../protocol/close.ts";
import type { ClaimTold, Welcome } from "../protocol/server-frames.ts";
import { cancel, type ClaimBook, grant, lose, refuse, renew, setLease } from "./claim-book.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { LossReason } from "./errors.ts";
import { leaseUntil } from "./lease.ts";

/** What comes of a loss of the connection. */
export interface Suspension {
  /** Holdings are lost then. Absent: now, the session is over. */
  readonly believedUntil?: number;
  /** Before the next attempt. Absent: as after any other loss. */
  readonly delayMs?: number;
}

/** What hello says of a session that may go on. */
export function resumable(welcome: Welcome | undefined): Pick<Welcome, "session" | "secret"> | undefined {
  return welcome && { session: welcome.session, secret: welcome.secret };
}

/** `session`: as it was welcomed, if it was. `wasOpen`: the connection, not only asked for. */
export function suspensionOf(
  now: number,
  heartbeat: Heartbeat,
  session: Welcome | undefined,
  code: number | undefined,
  wasOpen: boolean,
): Suspension {
  if (session === undefined) return {};
  // A refused resume costs no waiting: the next hello is another one.
  if (code === CLOSE_SESSION_ENDED) return wasOpen ? {} : { delayMs: 0 };
  if (session.grace === 0) return {};
  // Without a heartbeat both ends learn of a close at once.
  if (wasOpen && session.deadline === 0) heartbeat.heardAt = now;
  return { believedUntil: leaseUntil(heartbeat.heardAt, session.grace) };
}

/** After a resume, which was asked for at `helloAt`: what the server says against what is remembered here. */
export function reconcile(book: ClaimBook, helloAt: number, claims: readonly ClaimTold[] = []): void {
  const told = new Map(claims.map((claim) => [claim.id, claim]));
  for (const hold of book.holds.values()) {
    const claim = told.get(hold.id);
    told.delete(hold.id);
    if (hold.session !== book.session) continue;
    if (claim?.state === "holding") {
      setLease(book, hold, leaseUntil(helloAt, claim.expires_in));
    } else if (hold.handles > 0) {
      lose(book, hold, (claim?.outcome as LossReason | undefined) ?? "unknown");
    }
    // Else its last release is sent again, and the answer says how it ended.
  }
  for (const entry of Array.from(book.requests.values())) {
    const claim = told.get(entry.id);
    told.delete(entry.id);
    if (claim?.state === "waiting") entry.isQueued = true;
    else if (claim?.state === "holding") grant(book, entry, claim, leaseUntil(helloAt, claim.expires_in));
    else if (claim?.outcome === "timed_out") refuse(book, entry, { code: "timeout" });
    else if (claim?.outcome === "revoked") refuse(book, entry, { code: "revoked" });
    else if (claim !== undefined) renew(book, entry);
    else if (entry.frame.t === "begin" && entry.sentAt !== undefined) book.added?.askAgain(book, entry, helloAt);
    else entry.sentAt = undefined;
  }
  for (const claim of told.values()) {
    if (claim.state !== "gone") cancel(book, claim.id, "timeout");
  }
}
