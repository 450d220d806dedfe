/** Asks whoever holds a key for it. What a claim asks stands with it here too, since it is forgotten with a session and asked anew. */

import type { SessionLink } from "./addition.ts";
import { ask, type ClaimBook } from "./claim-book.ts";
import { RefusedError } from "./errors.ts";
import type { Call, Entry } from "./session-types.ts";

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
  const claim = session.book(({ requests }) => Array.from(requests.values()).find((entry) => isWaiting(entry, key)));
  if (claim === undefined) throw new RefusedError("not_waiting", "nothing waits for this key here");
  await session.wait((book, call) => {
    claim.afterSend = asks && (() => sendAsk(book, undefined, claim, asks));
    return sendAsk(book, call, claim, asks);
  });
}

function isWaiting({ frame, hold }: Entry, key: string): boolean {
  return frame.t === "acquire" && frame.key === key && hold === undefined;
}

function sendAsk(book: ClaimBook, call: Call | undefined, claim: Entry, asks: Asks): Entry {
  const frame = {
    t: "request_access",
    // It has another id once it has queued anew.
    get claim() {
      return claim.id;
    },
    ...(asks ?? { withdraw: true }),
  } as const;
  return ask(book, call, frame);
}
