/** A host with everything around it under the test's control: time, store, sockets, and all that it gave away. */

import { Host } from "../../../src/host/host.ts";
import type { HostPorts } from "../../../src/host/host-ports.ts";
import type { Socket } from "../../../src/host/ports.ts";
import type { ApiKey, HostChoices } from "../../../src/host/settings.ts";
import type { ServerFrame } from "../../../src/protocol/server-frames.ts";
import { FakeStore } from "./store.ts";
import { settle, VirtualTime } from "./time.ts";

export type FrameOf<T extends ServerFrame["t"]> = Extract<ServerFrame, { t: T }>;

export const ORIGIN = "http://localhost:8787";

export const KEYS: readonly ApiKey[] = [
  { name: "plain", secret: "plain-secret-0001", permissions: [] },
  { name: "pinned", secret: "pinned-secret-0002", space: "pinned", permissions: [] },
  { name: "thief", secret: "thief-secret-0003", permissions: ["steal"] },
  { name: "operator", secret: "operator-secret-0004", permissions: ["operate"] },
];

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects, and fails where that is not so
  readonly body: any;
}

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class World {
  readonly time = new VirtualTime();
  readonly store = new FakeStore();
  readonly errors: { readonly error: unknown; readonly where: string }[] = [];
  /** Everything that was minted: tokens, secrets and the public ids of sessions. */
  readonly minted: string[] = [];
  /** The bodies and headers of all answers. */
  readonly told: string[] = [];
  readonly sockets: FakeSocket[] = [];
  readonly host: Host;
  readonly #traits: Pick<HostPorts, "hasDearSignals" | "lookTurns" | "hibernation">;

  constructor(
    choices: HostChoices = {},
    prepare: (store: FakeStore) => void = () => {},
    traits: Pick<HostPorts, "hasDearSignals" | "lookTurns" | "hibernation"> = {},
  ) {
    prepare(this.store);
    this.#traits = traits;
    this.host = this.#start(choices);
  }

  /** Another host on the same store, as after a restart; the old one is left alone. */
  restarted(choices: HostChoices = {}): Host {
    return this.#start(choices);
  }

  advance(ms: number): void {
    this.time.advance(ms);
  }

  connect(options: ConnectOptions = {}): FakeSocket {
    const socket = new FakeSocket(`socket-${this.sockets.length + 1}`, options.host ?? this.host);
    this.sockets.push(socket);
    const headers = options.headers ?? {};
    const admission = socket.host.admit(new Request(`${ORIGIN}/v1/session`, { headers }));
    if (admission instanceof Response) throw new Error(`refused with ${admission.status}`);
    socket.protocol = admission.protocol;
    socket.host.opened(socket, { admission, liveness: options.liveness ?? true });
    return socket;
  }

  /** A connection that has said hello. */
  session(hello: object = {}, options: ConnectOptions = {}): FakeSocket {
    const socket = this.connect(options);
    socket.hello(hello);
    return socket;
  }

  request(method: string, path: string, body?: unknown, { headers, signal }: AskOptions = {}): Request {
    return new Request(ORIGIN + path, {
      method,
      ...(headers === undefined ? undefined : { headers }),
      ...(signal === undefined ? undefined : { signal }),
      ...(body === undefined ? undefined : { body: textOf(body) }),
    });
  }

  async ask(method: string, path: string, body?: unknown, options: AskOptions = {}): Promise<Answer> {
    const response = await this.host.fetch(this.request(method, path, body, options));
    const text = await response.text();
    this.told.push(text, JSON.stringify([...response.headers]));
    const isJson = text !== "" && response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  acquire(key: string, body: unknown = {}, options: AskOptions = {}): Promise<Answer> {
    return this.ask("POST", `/v1/latch/${encodeURIComponent(key)}/acquire`, body, options);
  }

  extend(key: string, body: unknown): Promise<Answer> {
    return this.ask("POST", `/v1/latch/${encodeURIComponent(key)}/extend`, body);
  }

  release(key: string, body: unknown): Promise<Answer> {
    return this.ask("POST", `/v1/latch/${encodeURIComponent(key)}/release`, body);
  }

  status(key: string): Promise<Answer> {
    return this.ask("GET", `/v1/latch/${encodeURIComponent(key)}`);
  }

  /** Starts an acquire that will wait, and returns once it does. */
  async waitingCall(key: string, body: unknown = {}, options: AskOptions = {}): Promise<{ answer: Promise<Answer> }> {
    const answer = this.acquire(key, body, options);
    await settle();
    return { answer };
  }

  #start(choices: HostChoices): Host {
    const mint = {
      token: (): string => {
        const token = `minted-${String(this.minted.length + 1).padStart(6, "0")}`;
        this.minted.push(token);
        return token;
      },
    };
    const onError = (error: unknown, { where }: { readonly where: string }): void => {
      this.errors.push({ error, where });
    };
    const host = new Host(
      { clock: this.time, alarm: this.time, mint, store: this.store, onError, pause: this.time.pause, ...this.#traits },
      choices,
    );
    this.time.wake = () => host.woken();
    return host;
  }
}

export interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly liveness?: boolean;
  readonly host?: Host;
}

export class FakeSocket implements Socket {
  readonly id: string;
  readonly host: Host;
  protocol: string | undefined;
  buffered = 0;
  /** False: the runtime takes no message any more. */
  takes = true;
  /** Called for each message that is sent, before `send` returns. */
  onSent: (text: string) => void = () => {};
  readonly sent: string[] = [];
  closedWith: { readonly code: number; readonly reason: string } | undefined;
  #read = 0;
  #lastId = 0;

  constructor(id: string, host: Host) {
    this.id = id;
    this.host = host;
  }

  send(text: string): boolean {
    if (!this.takes) return false;
    this.sent.push(text);
    this.onSent(text);
    return true;
  }

  close(code: number, reason: string): void {
    this.closedWith ??= { code, reason };
  }

  /** What the peer sends. */
  say(frame: object | readonly unknown[] | string): void {
    this.host.message(this, typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** The runtime tells that the connection is gone. */
  drop(): void {
    this.host.closed(this);
  }

  hello(hello: object = {}): void {
    this.say({ t: "hello", v: 1, ...hello });
  }

  get welcome(): FrameOf<"welcome"> {
    return this.frames("welcome").at(-1)!;
  }

  get resume(): { session: string; secret: string } {
    const { session, secret } = this.welcome;
    return { session, secret };
  }

  /** All frames of a type, oldest first. */
  frames<T extends ServerFrame["t"]>(t: T): FrameOf<T>[] {
    const frames = this.sent.flatMap(framesOf) as (ServerFrame | string)[];
    return frames.filter((frame): frame is FrameOf<T> => typeof frame === "object" && frame.t === t);
  }

  /** What was sent since the last call, bare texts as they are. */
  // oxlint-disable-next-line typescript/no-explicit-any -- frames of all types
  news(): any[] {
    const news = this.sent.slice(this.#read);
    this.#read = this.sent.length;
    return news.flatMap(framesOf);
  }

  /** Sends a frame and returns the first answer under its id. */
  // oxlint-disable-next-line typescript/no-explicit-any -- frames of all types
  ask(frame: object): any {
    const id = "id" in frame ? frame.id : `r${++this.#lastId}`;
    const before = this.sent.length;
    this.say({ id, ...frame });
    const answers = this.sent.slice(before).flatMap(framesOf) as { id?: unknown }[];
    return answers.find((answer) => answer.id === id);
  }

  acquire(key: string, asked: object = {}): ReturnType<FakeSocket["ask"]> {
    return this.ask({ t: "acquire", key, ...asked });
  }

  status(key: string): FrameOf<"status"> {
    return this.ask({ t: "status", key }) as FrameOf<"status">;
  }
}

/** A message is a bare word, a frame, or a batch of frames. */
function framesOf(message: string): unknown[] {
  if (!/^[[{]/.test(message)) return [message];
  return [JSON.parse(message) as unknown].flat();
}

function textOf(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}
