/** Asks whoever holds a key for it. What a claim asks stands with it here too, since it is forgotten with a session and asked anew. */

import type { SessionLink } from "./addition.ts";
import type { ClaimBook } from "./claim-book.ts";
import { RefusedError } from "./errors.ts";
import type { Entry } from "./session-types.ts";

/** What a claim that waits says to who holds the key. Undefined: it does not ask any more. */
type Asks = { readonly message: string | undefined } | undefined;

/** For the session's first acquire of the key that waits. */
export async function requestAccess(
  session: SessionLink,
  key: string,
  message: string | undefined,
  { withdraw }: { readonly withdraw?: boolean } = {},
): Promise<void> {
  const asks = withdraw === true ? undefined : { message };
  await session.wait(undefined, (call, { book }) => {
    for (const entry of book.entries.values()) {
      if (entry.frame.t !== "acquire" || entry.frame.key !== key || entry.hold !== undefined) continue;
      entry.afterSend = asks && (() => sendAsk(book, undefined, entry, asks));
      return sendAsk(book, call, entry, asks);
    }
    book.emit({ kind: "failed", call, error: new RefusedError("not_waiting", "nothing waits for this key here") });
    return undefined;
  });
}

function sendAsk<Call>(book: ClaimBook<Call>, call: Call | undefined, claim: Entry<Call>, asks: Asks): Entry<Call> {
  const frame = {
    t: "request_access",
    // It has another id once it has queued anew.
    get claim() {
      return claim.id;
    },
    ...(asks ?? { withdraw: true }),
  } as const;
  return book.ask(call, frame, undefined);
}
