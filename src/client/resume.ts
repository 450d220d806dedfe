/** After a resume: what the server says against what is remembered here. Loaded by sessions with a grace, which alone resume. */

import type { ClaimTold } from "../protocol/server-frames.ts";
import type { ClaimBook } from "./claim-book.ts";
import type { LossReason } from "./errors.ts";
import { leaseUntil } from "./lease.ts";

export type Reconcile = typeof reconcile;

/** `claims`: the server's snapshot, which was asked for at `helloAt`. */
export function reconcile(book: ClaimBook, claims: readonly ClaimTold[], helloAt: number): void {
  const told = new Map(claims.map((claim) => [claim.id, claim]));
  for (const hold of book.holds.values()) {
    const claim = told.get(hold.id);
    told.delete(hold.id);
    if (hold.session !== book.session) continue;
    if (claim?.state === "holding") {
      book.setLease(hold, leaseUntil(helloAt, claim.expires_in));
    } else if (hold.open > 0) {
      book.lose(hold, (claim?.outcome as LossReason | undefined) ?? "unknown");
    }
    // Else its last release is sent again, and the answer says how it ended.
  }
  for (const entry of Array.from(book.entries.values())) {
    const claim = told.get(entry.id);
    told.delete(entry.id);
    if (claim?.state === "waiting") entry.queued = true;
    else if (claim?.state === "holding") book.hold(entry, claim, leaseUntil(helloAt, claim.expires_in));
    else if (claim?.outcome === "timed_out") book.refuse(entry, { code: "timeout" });
    else if (claim?.outcome === "revoked") book.refuse(entry, { code: "revoked" });
    else if (claim !== undefined) book.renew(entry);
    else if (entry.frame.t === "begin" && entry.sentAt !== undefined) book.added?.askAgain(book, entry, helloAt);
    else entry.sentAt = undefined;
  }
  for (const claim of told.values()) {
    if (claim.state !== "gone") book.cancel(claim.id, "timeout");
  }
}
