/**
 * A bare WebSocket client: it knows frames and nothing of locks. What arrives waits, in order, until a test asks for it.
 * Every wait has an end, so that a test that goes wrong says what it got instead of hanging.
 */

import { WebSocket } from "ws";
import type { AcquireFrame, HelloFrame } from "../../src/protocol/frames.ts";
import type { Granted, Queued, Released, ServerFrame, StatusFrame, Welcome } from "../../src/protocol/server-frames.ts";
import { keepSecret } from "./secrets.ts";

export type FrameOf<T extends ServerFrame["t"]> = Extract<ServerFrame, { t: T }>;
export type Hello = Omit<HelloFrame, "t" | "v">;
export type Asked = Partial<Omit<AcquireFrame, "t" | "key">>;

/** Any members at all: what a server makes of wrong ones is tested too. */
type Frame = Readonly<Record<string, unknown>> & { readonly id?: string };

export interface OpenOptions {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves pings without an answer. */
  readonly silent?: boolean;
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** What carries the frames: a WebSocket here, or one in another process. */
export interface Wire {
  readonly protocol: string;
  send(data: string | Buffer): void;
  /** Stops reading. */
  pause(): void;
  /** The end without a word. */
  terminate(): void;
}

interface Wanted {
  readonly matches: (text: string) => boolean;
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
}

const PATIENCE_MS = 10_000;

export class TestSocket implements Disposable {
  readonly closed: Promise<Closed>;
  readonly #wire: Wire;
  readonly #resolveClosed: (closed: Closed) => void;
  readonly #unread: string[] = [];
  readonly #wanted = new Set<Wanted>();
  #over: Closed | undefined;
  #welcome: Welcome | undefined;
  #lastId = 0;

  constructor(wire: Wire) {
    const { promise, resolve } = Promise.withResolvers<Closed>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    this.#wire = wire;
  }

  get protocol(): string {
    return this.#wire.protocol;
  }

  /** The answer to its latest hello. */
  get welcome(): Welcome {
    if (this.#welcome === undefined) throw new Error("it has not been welcomed");
    return this.#welcome;
  }

  /** For the wire: a message has arrived. */
  arrived(message: string): void {
    for (const text of framesIn(message)) this.#frame(text);
  }

  #frame(text: string): void {
    const token = /"(?:token|attempt)":"([^"]+)"/.exec(text)?.[1];
    if (token !== undefined) keepSecret(token);
    for (const wanted of this.#wanted) {
      if (!wanted.matches(text)) continue;
      this.#wanted.delete(wanted);
      wanted.resolve(text);
      return;
    }
    this.#unread.push(text);
  }

  /** For the wire: nothing will arrive any more. */
  over(closed: Closed): void {
    this.#over = closed;
    this.#resolveClosed(closed);
    for (const { reject } of this.#wanted) reject(new Error(`closed with ${closed.code}`));
  }

  /** An object goes as JSON, a text and bytes as they are. */
  send(frame: object | string | Buffer): void {
    this.#wire.send(typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** The next frame of this type, and of this id if one is given. */
  async next<T extends ServerFrame["t"]>(t: T, id?: string): Promise<FrameOf<T>> {
    const text = await this.#take(
      (candidate) => {
        const frame = parse(candidate);
        return frame?.t === t && (id === undefined || ("id" in frame && frame.id === id));
      },
      id === undefined ? t : `${t} for ${id}`,
    );
    return JSON.parse(text) as FrameOf<T>;
  }

  /** The next of the frames that are no JSON. */
  async nextBare(text: "ping" | "ack"): Promise<void> {
    await this.#take((candidate) => candidate === text, text);
  }

  /** The next frame with this id, whatever its type. */
  async nextFor(id: string): Promise<ServerFrame> {
    const text = await this.#take((candidate) => {
      const frame = parse(candidate);
      return frame !== undefined && "id" in frame && frame.id === id;
    }, `answer to ${id}`);
    return JSON.parse(text) as ServerFrame;
  }

  /** Sends a frame and reads its answer, which must be of the given type. */
  async ask<T extends ServerFrame["t"]>(frame: Frame, t: T): Promise<FrameOf<T>> {
    const id = frame.id ?? this.newId();
    this.send({ ...frame, id });
    const answer = await this.nextFor(id);
    if (answer.t !== t) throw new Error(`expected ${t}, got ${JSON.stringify(answer)}`);
    return answer as FrameOf<T>;
  }

  async hello(hello: Hello = {}): Promise<Welcome> {
    this.send({ t: "hello", v: 1, ...hello });
    const welcome = await this.next("welcome");
    keepSecret(welcome.secret);
    this.#welcome = welcome;
    return welcome;
  }

  /** Acquires a key that must be free for this claim. */
  acquire(key: string, asked: Asked = {}): Promise<Granted> {
    return this.ask({ t: "acquire", key, ...asked }, "granted");
  }

  /** Acquires a key that must not be free. */
  queue(key: string, asked: Asked = {}): Promise<Queued> {
    return this.ask({ t: "acquire", key, ...asked }, "queued");
  }

  granted(waiting: Queued): Promise<Granted> {
    return this.next("granted", waiting.id);
  }

  release({ key, token }: Granted): Promise<Released> {
    return this.ask({ t: "release", key, token }, "released");
  }

  status(key: string): Promise<StatusFrame> {
    return this.ask({ t: "status", key }, "status");
  }

  /** What nobody has asked for, once everything that the server had to say until now is here. */
  async unread(): Promise<readonly string[]> {
    await this.status("");
    return this.#unread.filter((text) => text !== "ping" && text !== "ack");
  }

  newId(): string {
    return `r${++this.#lastId}`;
  }

  pause(): void {
    this.#wire.pause();
  }

  /** The connection breaks, without a word. */
  terminate(): void {
    this.#wire.terminate();
  }

  async break(): Promise<void> {
    this.terminate();
    await this.closed;
  }

  [Symbol.dispose](): void {
    this.terminate();
  }

  async #take(matches: (text: string) => boolean, name: string): Promise<string> {
    const index = this.#unread.findIndex(matches);
    if (index >= 0) return this.#unread.splice(index, 1)[0]!;
    if (this.#over) throw new Error(`closed with ${this.#over.code} before ${name}; unread: ${this.#unread.join(" ")}`);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const wanted: Wanted = {
      matches,
      resolve,
      reject: (error) => reject(new Error(`${error.message} before ${name}; unread: ${this.#unread.join(" ")}`)),
    };
    const timer = setTimeout(() => wanted.reject(new Error(`${PATIENCE_MS / 1000} s passed`)), PATIENCE_MS);
    this.#wanted.add(wanted);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#wanted.delete(wanted);
    }
  }
}

/** Connects without a hello. Rejects with the HTTP status in its message when the upgrade is refused. */
export async function openSocket(url: string, options: OpenOptions = {}): Promise<TestSocket> {
  const { protocols = ["latchkey.v1"], headers = {}, silent = false } = options;
  const raw = new WebSocket(url, [...protocols], { headers, perMessageDeflate: false });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  raw.once("open", resolve);
  raw.on("error", reject);
  const socket = new TestSocket({
    get protocol() {
      return raw.protocol;
    },
    send: (data) => raw.send(data),
    pause: () => raw.pause(),
    terminate: () => raw.terminate(),
  });
  raw.on("message", (bytes: Buffer) => {
    const text = bytes.toString();
    if (text === "ping" && !silent) raw.send("pong");
    socket.arrived(text);
  });
  raw.once("close", (code, reason) => socket.over({ code, reason: reason.toString() }));
  await promise;
  return socket;
}

/** A session, ready for use. */
export async function openSession(url: string, hello: Hello = {}, options: OpenOptions = {}): Promise<TestSocket> {
  const socket = await openSocket(url, options);
  await socket.hello(hello);
  return socket;
}

/** The frames of a message, each as a text of its own. */
export function framesIn(message: string): string[] {
  if (!message.startsWith("[")) return [message];
  return (JSON.parse(message) as unknown[]).map((frame) => JSON.stringify(frame));
}

function parse(text: string): ServerFrame | undefined {
  return text.startsWith("{") ? (JSON.parse(text) as ServerFrame) : undefined;
}
