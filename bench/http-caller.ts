/** An HTTP client that costs next to nothing: one kept connection, one call at a time, written and read by hand. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answered {
  readonly status: number;
  readonly body: string;
}

export class Caller {
  readonly #socket: Socket;
  readonly #host: string;
  #read = "";
  #answered: ((answer: Answered) => void) | undefined;

  private constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => this.#heard(part));
  }

  static async open(url: string): Promise<Caller> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return new Caller(socket, host);
  }

  post(path: string, body: string): Promise<Answered> {
    return this.#call(
      `POST ${path} HTTP/1.1\r\nhost: ${this.#host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  get(path: string): Promise<Answered> {
    return this.#call(`GET ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n\r\n`);
  }

  close(): void {
    this.#socket.destroy();
  }

  #call(text: string): Promise<Answered> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(text);
    });
  }

  #heard(part: string): void {
    this.#read += part;
    const end = this.#read.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = this.#read.slice(0, end).toLowerCase();
    const body = this.#read.slice(end + 4);
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    const isWhole = length === undefined ? body.endsWith("0\r\n\r\n") : body.length >= Number(length);
    if (!isWhole) return;
    this.#read = "";
    this.#answered?.({ status: Number(head.slice(9, 12)), body: length === undefined ? unchunked(body) : body });
  }
}

function unchunked(text: string): string {
  let whole = "";
  for (let at = 0; ;) {
    const start = text.indexOf("\r\n", at) + 2;
    const size = Number.parseInt(text.slice(at, start), 16);
    if (size === 0) return whole;
    whole += text.slice(start, start + size);
    at = start + size + 2;
  }
}
