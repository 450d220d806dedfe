/**
 * A Worker is not told that its caller hung up: neither `request.signal` nor a broken call shows it, and the first write
 * to a dead connection succeeds (workerd 2026-11). But that write is answered by a reset, and the next one fails. So the answer that
 * tells of a grant after a wait begins with white space, which JSON allows, and goes on a moment later; when the connection has
 * taken that too, it is confirmed to the object. Without a confirmation the object takes the grant back.
 */

import { waitUntil } from "cloudflare:workers";
import { CONFIRM_MS } from "./objects.ts";

/** For the reset to arrive; mostly it is known after 1 to 9 ms, measured. What a grant after a wait costs more. */
const LISTEN_MS = 20;

/**
 * The stream asks for chunks before it has written those that it has: two, measured. So a chunk is known to be with the connection
 * when this many more were asked for. A clock would not do: on a busy machine this code goes on before the writing does.
 */
const AHEAD = 4;

/** An answer that has not left by then would tell of a lock that the object may have taken back before it hears of it. */
const LEAVE_MS = CONFIRM_MS / 2;

/** Between tries to confirm, ms: an object that has too much to do for a moment must not take back what was delivered. */
const RETRIES_MS = [100, 300, 900];

/** `tell` hears what became of it; `listenMs`: what a busy machine may make of it, for tests. */
export function deliver(
  status: number,
  headers: Headers,
  body: string,
  tell: (isDelivered: boolean) => Promise<void>,
  listenMs: number = LISTEN_MS,
): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  waitUntil(write(writable.getWriter(), body, listenMs).then((isDelivered) => insist(() => tell(isDelivered))));
  return new Response(readable, { status, headers });
}

/** Whether the connection took all of it, a moment after it had taken something before. */
async function write(
  writer: WritableStreamDefaultWriter<Uint8Array>,
  body: string,
  listenMs: number,
): Promise<boolean> {
  const broken = writer.closed.then(
    () => false,
    () => true,
  );
  const leaveBy = Date.now() + LEAVE_MS;
  try {
    await put(writer, " ");
    if (await Promise.race([broken, pause(listenMs).then(() => false)])) return false;
    await put(writer, body);
    if (Date.now() > leaveBy) {
      // The caller sees a broken connection: what it has read so far is no whole answer.
      await writer.abort(new Error("the answer was not taken in time"));
      return false;
    }
    await writer.close();
    return true;
  } catch {
    return false;
  }
}

/** Resolves when the connection has taken the text; rejects when it is broken. */
async function put(writer: WritableStreamDefaultWriter<Uint8Array>, text: string): Promise<void> {
  const encoder = new TextEncoder();
  await writer.write(encoder.encode(text));
  for (let ahead = 0; ahead < AHEAD; ahead++) await writer.write(encoder.encode(" "));
}

async function insist(tell: () => Promise<void>): Promise<void> {
  for (const retryMs of RETRIES_MS) {
    try {
      return await tell();
    } catch {
      await pause(retryMs);
    }
  }
  return tell();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
