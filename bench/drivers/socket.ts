/** A WebSocket whose end is noticed: what all drivers over sockets share, the controls included. */

import { once } from "node:events";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import type { Cut } from "./driver.ts";

export class BenchSocket {
  onText: (text: string) => void = () => undefined;
  readonly #ws: WebSocket;
  #tcp: Socket | undefined;
  #isOver = false;
  #frames: string[] = [];

  private constructor(ws: WebSocket, broken: (error: Error) => void) {
    this.#ws = ws;
    ws.on("message", (data: Buffer) => this.onText(data.toString()));
    ws.on("upgrade", ({ socket }) => {
      this.#tcp = socket;
    });
    ws.on("close", (code, reason: Buffer) => {
      if (!this.#isOver) broken(new Error(`a socket was closed with ${code} ${reason.toString()}`.trim()));
    });
    // `close` follows and tells the end, once.
    ws.on("error", () => undefined);
  }

  static async open(
    url: string,
    broken: (error: Error) => void,
    protocols: readonly string[] = [],
  ): Promise<BenchSocket> {
    const ws = new WebSocket(url, [...protocols], { perMessageDeflate: false });
    const socket = new BenchSocket(ws, broken);
    await once(ws, "open");
    return socket;
  }

  /** Frames of one turn leave as one message, as our client sends them. */
  sendFrame(text: string): void {
    if (this.#frames.push(text) > 1) return;
    queueMicrotask(() => {
      const frames = this.#frames;
      this.#frames = [];
      this.send(frames.length === 1 ? text : `[${frames.join(",")}]`);
    });
  }

  send(text: string): void {
    this.#ws.send(text);
  }

  drop(cut: Cut = "fin"): void {
    this.#isOver = true;
    switch (cut) {
      case "frame":
        return this.#ws.close(1000);
      case "fin":
        return this.#ws.terminate();
      case "rst":
        this.#tcp?.resetAndDestroy();
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    if (this.#ws.readyState === WebSocket.CLOSED) return;
    const closed = once(this.#ws, "close");
    this.#ws.close();
    await closed;
  }
}
