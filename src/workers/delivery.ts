/**
 * A Worker is not told that its caller hung up: neither `request.signal` nor a broken call shows it, and the first write
 * to a dead connection succeeds (workerd 2026-11). But a moment after that write the stream is known to be broken: 1 to 9 ms,
 * measured. So the answer that tells of a grant after a wait begins with a space, which JSON allows, goes on a moment later, and
 * is confirmed to the object when it was taken. Without a confirmation the object takes the grant back.
 */

import { waitUntil } from "cloudflare:workers";

/** Twice the slowest break that was measured; what a grant after a wait costs more. */
const LISTEN_MS = 20;

export function deliver(
  status: number,
  headers: Headers,
  body: string,
  tell: (isDelivered: boolean) => Promise<void>,
): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  waitUntil(write(writable.getWriter(), body).then(tell));
  return new Response(readable, { status, headers });
}

/** Whether all of it was taken. */
async function write(writer: WritableStreamDefaultWriter<Uint8Array>, body: string): Promise<boolean> {
  const broken = writer.closed.then(
    () => false,
    () => true,
  );
  const encoder = new TextEncoder();
  try {
    await writer.write(encoder.encode(" "));
    if (await Promise.race([broken, listened()])) return false;
    await writer.write(encoder.encode(body));
    await writer.close();
    return true;
  } catch {
    return false;
  }
}

function listened(): Promise<false> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), LISTEN_MS);
  });
}
