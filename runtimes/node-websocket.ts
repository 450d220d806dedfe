/** Where `ws` tells later than it knows, and where it writes dearer than it must. */

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

/**
 * Text frames of a server, each in one piece: ws hands header and text to the connection one by one, which costs as much again as the
 * write itself. The first frame of a tick leaves at once, so that whoever is granted does not wait for what else this tick has to do;
 * what the same tick says to the same peer after it leaves together. Frames that ws writes meanwhile keep their place among these.
 */
export class TextFrames {
  readonly #connection: Duplex;
  #hasWritten = false;
  #isHeld = false;

  constructor(connection: Duplex) {
    this.#connection = connection;
  }

  write(text: string): void {
    if (!this.#hasWritten) {
      this.#hasWritten = true;
      // There may be very many of these: no function of its own for each.
      process.nextTick(endTick, this);
    } else if (!this.#isHeld) {
      this.#isHeld = true;
      this.#connection.cork();
    }
    const bytes = Buffer.byteLength(text);
    // A string of single bytes goes to the system as it is.
    if (bytes === text.length) this.#connection.write(headerOf(bytes) + text, "latin1");
    else this.#connection.write(Buffer.concat([Buffer.from(headerOf(bytes), "latin1"), Buffer.from(text)]));
  }

  endTick(): void {
    this.#hasWritten = false;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#connection.uncork();
  }
}

function endTick(frames: TextFrames): void {
  frames.endTick();
}

/** RFC 6455, section 5.2: the last (and only) frame of a text, not masked, with its length in 7, 16 or 64 bits. */
function headerOf(bytes: number): string {
  const start = "\u0081";
  if (bytes < 126) return start + String.fromCharCode(bytes);
  if (bytes < 65_536) return start + String.fromCharCode(126, bytes >> 8, bytes & 255);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes));
  return `${start}\u007f${length.toString("latin1")}`;
}
