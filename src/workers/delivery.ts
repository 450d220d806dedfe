/**
 * A Worker is not told that its caller hung up: neither `request.signal` nor a broken call shows it, and the first write
 * to a dead connection succeeds (workerd 2026-11). But that write is answered by a reset, and the next one fails. So the answer that
 * tells of a grant after a wait begins with white space, which JSON allows, and goes on a moment later with all but its last brace. When
 * the connection has taken that too, the grant is confirmed to the object; when that has said that it stands, the brace follows.
 * Without a confirmation the object takes the grant back: then nobody can have read the answer, since its text is not whole.
 */

import { waitUntil } from "cloudflare:workers";

/** For the reset to arrive; mostly it is known after 1 to 9 ms, measured. What a grant after a wait costs more. */
const LISTEN_MS = 20;

/**
 * The stream asks for chunks before it has written those that it has: two, measured. So a chunk is known to be with the connection
 * when this many more were asked for. A clock would not do: on a busy machine this code goes on before the writing does.
 */
const AHEAD = 4;

/** Between tries to confirm, ms: an object that has too much to do for a moment must not take back what is about to be delivered. */
const RETRIES_MS = [100, 300, 900];

/** Tells the object what becomes of the answer; whether the grant stands. */
type Confirm = (isDelivered: boolean) => Promise<boolean>;

type Writer = WritableStreamDefaultWriter<Uint8Array>;

/** `body`: a JSON object. `listenMs`: what a busy machine may make of it, for tests. */
export function deliver(
  status: number,
  headers: Headers,
  body: string,
  confirm: Confirm,
  listenMs: number = LISTEN_MS,
): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  waitUntil(write(writable.getWriter(), body, confirm, listenMs));
  return new Response(readable, { status, headers });
}

async function write(writer: Writer, body: string, confirm: Confirm, listenMs: number): Promise<void> {
  const isTaken = await offer(writer, body.slice(0, -1), listenMs);
  if (isTaken && (await insist(() => confirm(true)).catch(() => false))) {
    // Whatever becomes of it now: the caller may have read it.
    await Promise.allSettled([writer.write(encode(body.slice(-1))), writer.close()]);
    return;
  }
  // A caller that is there after all sees a broken connection.
  await Promise.allSettled([writer.abort(new Error("the grant does not stand")), insist(() => confirm(false))]);
}

/** Whether the connection took all of it, a moment after it had taken something before. */
async function offer(writer: Writer, text: string, listenMs: number): Promise<boolean> {
  const broken = writer.closed.then(
    () => false,
    () => true,
  );
  try {
    await put(writer, " ");
    if (await Promise.race([broken, pause(listenMs).then(() => false)])) return false;
    await put(writer, text);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when the connection has taken the text; rejects when it is broken. */
async function put(writer: Writer, text: string): Promise<void> {
  await writer.write(encode(text));
  for (let ahead = 0; ahead < AHEAD; ahead++) await writer.write(encode(" "));
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function insist<T>(tell: () => Promise<T>): Promise<T> {
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
