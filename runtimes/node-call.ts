/** A call as Node has it, for the host: the web's Request and Response would cost more than the lock. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Asked, HangUp } from "../src/host/asked.ts";
import { BODY_BYTES_MAX } from "../src/protocol/limits.ts";

/** Targets that mean to the web's URL what they say: it would take away a segment of dots, and read a backslash as a slash. */
const PLAIN_TARGET = /^\/v1\/latch\/(?!\.|%2e)[\w.~%!$&'()*+,;:=@-]*\/[a-z]+(?:\?[\w.~%+=&-]*)?$/i;

/** Undefined: it is to be served by way of the web's types. */
export function nodeCall(incoming: IncomingMessage, outgoing: ServerResponse): NodeCall | undefined {
  if (incoming.method !== "POST" || !PLAIN_TARGET.test(incoming.url ?? "")) return undefined;
  const call = new NodeCall(incoming, outgoing);
  const { headers } = call;
  const length = headers.get("content-length");
  const isShort = length !== null && Number(length) <= BODY_BYTES_MAX && !headers.has("transfer-encoding");
  return isShort && headers.has("host") ? call : undefined;
}

class NodeCall implements Asked, HangUp {
  /** The body is short, and taken in one piece. */
  readonly body = null;
  readonly method = "POST";
  readonly headers: RawHeaders;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.headers = new RawHeaders(incoming.rawHeaders);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  get url(): string {
    return `http://latchkey${this.#incoming.url ?? ""}`;
  }

  /** A call is its own signal: one of the web's would cost as much as a grant. */
  get signal(): HangUp {
    return this;
  }

  get aborted(): boolean {
    // Node ends its own side as soon as it has read the end of the other: a turn before all is closed, and after it nothing is sent.
    return this.#outgoing.closed || this.#incoming.socket.writableEnded;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#outgoing.once("close", listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#outgoing.off("close", listener);
  }

  arrayBuffer(): Promise<Uint8Array> {
    const incoming = this.#incoming;
    return new Promise((resolve, reject) => {
      let whole: Buffer | undefined;
      incoming.on("data", (part: Buffer) => {
        whole = whole === undefined ? part : Buffer.concat([whole, part]);
      });
      incoming.on("end", () => resolve(whole ?? new Uint8Array()));
      incoming.on("error", reject);
    });
  }
}

/** By the rules of the web's Headers: what comes several times is one value. Few are asked for, so nothing is made of the others. */
class RawHeaders implements Pick<Headers, "get" | "has"> {
  readonly #raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  get(name: string): string | null {
    let value: string | null = null;
    for (let i = 0; i + 1 < this.#raw.length; i += 2) {
      const header = this.#raw[i] as string;
      if (header.length !== name.length || header.toLowerCase() !== name) continue;
      const more = this.#raw[i + 1] as string;
      value = value === null ? more : `${value}, ${more}`;
    }
    return value;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }
}
