/** What `ws` tells later than it knows. */

import type { Duplex } from "node:stream";
import { WebSocket } from "ws";

/**
 * ws 8 tells `close` once TCP has ended, which takes our answer to the peer's close frame, the peer's turn, and its FIN: without this
 * the next in line waits for all three (three times as long), and a peer that leaves its connection open keeps its locks for
 * seconds. ws calls its own `close` as soon as the peer's frame is there, to answer it, and when it cannot read on. Its server
 * takes another class in the place of its own, one that extends it.
 */
export class PromptWebSocket extends WebSocket {
  /** The peer's session is over. `close` follows. */
  onEnding: (() => void) | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    this.onEnding?.();
    // Behind what the end of the session has to tell others, which leaves in a tick of its own.
    process.nextTick(() => super.close(code, reason));
  }

  /** By us: the session is over already. */
  closeOurselves(code: number, reason: string): void {
    super.close(code, reason);
  }
}

/** Calls `over` as soon as it is known that the peer says no more, and maybe again later. */
export function onOver(ws: PromptWebSocket, connection: Duplex, over: () => void): void {
  ws.onEnding = over;
  // A peer that has ended its side: `close` waits until it has read all that we have for it.
  connection.once("end", over);
  // A broken frame or connection: `close` follows.
  ws.on("error", () => {});
  ws.on("close", over);
}
