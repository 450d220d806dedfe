/**
 * A WebSocket that reads next to nothing: it stands for a watcher on another machine, whose own work must not take the time of those
 * that are measured here. It knows as much of RFC 6455 as this needs.
 */

import { connect, type Socket } from "node:net";

/** The two bytes before a server's text of four, which is a ping. */
const PING_HEAD = 0x8104;
const PING_BYTES = 6;

const STATE = '{"t":"state"';

export class Reader {
  /** That have arrived; of one that comes in two pieces it may miss the beginning. */
  states = 0;
  readonly #socket: Socket;

  /** What has come until it is open. */
  #opening: string | undefined = "";

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Resolves when the server has told what there is. `frames`: short ones, sent after the upgrade. `buffer` may be shared. */
  static open(url: string, frames: readonly string[], buffer: Buffer): Promise<Reader> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const onread = {
        buffer,
        callback: (count: number): boolean => {
          if (reader.#opening === undefined) reader.#read(buffer, count);
          else if (reader.#open(Buffer.from(buffer.subarray(0, count)).toString("latin1"), frames)) resolve(reader);
          return true;
        },
      };
      const socket = connect({ host: hostname, port: Number(port), onread });
      const reader = new Reader(socket);
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("a reader was cut off")));
      socket.write(
        `GET /v1/session HTTP/1.1\r\nhost: ${hostname}:${port}\r\nupgrade: websocket\r\nconnection: upgrade\r\n` +
          "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      );
    });
  }

  /** Whether it is open by this. */
  #open(text: string, frames: readonly string[]): boolean {
    const before = this.#opening ?? "";
    this.#opening = before + text;
    if (!before.includes("\r\n\r\n") && this.#opening.includes("\r\n\r\n")) {
      for (const frame of frames) this.#socket.write(masked(frame));
    }
    if (!this.#opening.includes('"full":true')) return false;
    this.#opening = undefined;
    return true;
  }

  #read(buffer: Buffer, count: number): void {
    if (count === PING_BYTES && ((buffer[0] ?? 0) << 8) + (buffer[1] ?? 0) === PING_HEAD) {
      this.#socket.write(masked("pong"));
      return;
    }
    const text = buffer.subarray(0, count);
    for (let at = text.indexOf(STATE); at !== -1; at = text.indexOf(STATE, at + STATE.length)) this.states++;
  }
}

/** As one text frame, under a mask that changes nothing. */
function masked(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return Uint8Array.from([0x81, 0x80 + bytes.length, 0, 0, 0, 0, ...bytes]);
}
