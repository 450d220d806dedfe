/** What callers ask of a session: what makes the record of the request, by which it can be given up. */

import type { Asked, Asking } from "./addition.ts";
import { ask, byToken, cancel, type ClaimBook, fail, find, isSent, letGo } from "./claim-book.ts";
import { NEVER } from "./clock.ts";
import type { Entry, Held, Over, Wanted } from "./session-types.ts";

export function askAcquire(key: string, { reentrant, timeout = NEVER, ttl, ...rest }: Wanted): Asking {
  return (book, call) => {
    const hold = reentrant ? find(book, (held) => held.key === key && held.handles > 0) : undefined;
    if (hold) hold.handles += 1;
    const wanted = hold ? { token: hold.token, nest: true } : rest;
    return ask(book, call, { t: "acquire", key, ttl, ...wanted, timeout }, hold, "timeout");
  };
}

/** By default for as long as asked last; the server refuses it when there is no lease at all. */
export function askExtend(hold: Held, ttl: number | undefined): Asking {
  const { key, token } = hold;
  return (book, call) => ask(book, call, { t: "extend", key, token, ttl: (ttl ?? hold.ttl) as number }, hold);
}

/** One handle's release. */
export function askRelease(hold: Held): Asking {
  return (book, call) => {
    hold.handles -= 1;
    return letGo(book, call, hold, hold);
  };
}

/** By raw token, or without one. */
export function askOther(frame: Asked, over?: Over): Asking {
  return (book, call) => ask(book, call, frame, byToken(book, (frame as { readonly token?: string }).token), over);
}

/** Takes a request back, if it has no answer. A claim leaves the queue; a grant that is on its way will find nobody. */
export function giveUp(book: ClaimBook, entry: Entry, error: Error): void {
  const { id, over, hold } = entry;
  // The server knows a claim by the id of its acquire; a nested acquire is part of another claim.
  if (book.requests.has(id) && over && !hold && isSent(entry)) cancel(book, id, over);
  fail(book, entry, error);
}
