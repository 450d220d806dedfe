import { expect } from "vitest";
// What is loaded later is there at once in virtual time.
import "../../../src/client/access.ts";
import "../../../src/client/contention.ts";
import "../../../src/client/lock-set.ts";
import "../../../src/client/resume.ts";
import "../../../src/client/told.ts";
import "../../../src/client/watching.ts";
import "../../../src/client/web-locks/snapshot.ts";
import type { ConnectOptions, Lock } from "../../../src/client/index.ts";
import { type IdempotentClient, connect } from "../../../src/client/idempotency.ts";
import type { Ports } from "../../../src/client/clock.ts";
import type { ClaimTold, ServerFrame, Welcome } from "../../../src/protocol/server-frames.ts";
import { settle, VirtualTime } from "./virtual-time.ts";

type Frame = Readonly<Record<string, unknown>>;

/** The far end of one socket: the test reads what the client sent, and says what the server would. */
export class FarEnd {
  readonly url: string;
  readonly protocols: readonly string[];
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  /** Set when the client closed. */
  closedWith: { code: number | undefined } | undefined;
  readonly texts: string[] = [];

  constructor(url: string, protocols: readonly string[]) {
    this.url = url;
    this.protocols = protocols;
  }

  // What the client calls.

  send(text: string): void {
    this.texts.push(text);
  }

  close(code?: number): void {
    this.closedWith = { code };
  }

  // What the test calls.

  async open(): Promise<void> {
    this.#call(this.onopen, {});
    await settle();
  }

  async say(...frames: (ServerFrame | string)[]): Promise<void> {
    for (const frame of frames) {
      this.#call(this.onmessage, { data: typeof frame === "string" ? frame : JSON.stringify(frame) });
    }
    await settle();
  }

  async sayBatch(...frames: ServerFrame[]): Promise<void> {
    this.#call(this.onmessage, { data: JSON.stringify(frames) });
    await settle();
  }

  async drop(code = 1006): Promise<void> {
    this.#call(this.onclose, { code });
    await settle();
  }

  /** All frames that were sent and not looked at yet. */
  sent(): (Frame | string)[] {
    return this.texts.splice(0).map((text) => (text.startsWith("{") ? (JSON.parse(text) as Frame) : text));
  }

  /** The only frame that was sent since, of this kind. */
  one(kind: string): Frame & { readonly id: string } {
    const frames = this.sent();
    expect(frames.map((frame) => (typeof frame === "string" ? frame : frame["t"]))).toEqual([kind]);
    return frames[0] as Frame & { readonly id: string };
  }

  #call(handler: ((event: never) => void) | null, event: object): void {
    handler?.(event as never);
  }
}

export interface Scripted {
  readonly time: VirtualTime;
  readonly client: IdempotentClient;
  readonly errors: { readonly error: unknown; readonly where: string }[];
  readonly statuses: string[];
  readonly ends: FarEnd[];
  /** The socket that the client opened last. */
  readonly end: () => FarEnd;
}

/** A client whose server is the test. It has begun to connect. */
export async function scripted(
  options: ConnectOptions = {},
  url = "https://latchkey.test",
  page?: Ports["page"],
): Promise<Scripted> {
  const time = Object.assign(new VirtualTime(), { page });
  const ends: FarEnd[] = [];
  const errors: { error: unknown; where: string }[] = [];
  const statuses: string[] = [];
  class ScriptedSocket extends FarEnd {
    constructor(address: string, protocols: readonly string[]) {
      super(address, protocols);
      ends.push(this);
    }
  }
  const client = connect(
    url,
    {
      WebSocket: ScriptedSocket,
      onError: (error, { where }) => errors.push({ error, where }),
      onStatus: (status) => statuses.push(status),
      ...options,
    },
    time,
  );
  await settle();
  return { time, client, errors, statuses, ends, end: () => ends.at(-1)! };
}

export function welcome(members: Partial<Welcome> = {}): Welcome {
  return {
    t: "welcome",
    v: 1,
    session: "session-1",
    secret: "secret-1",
    space: "default",
    epoch: 1,
    durable: false,
    ping: 5_000,
    deadline: 15_000,
    grace: 0,
    resumed: false,
    ...members,
  };
}

/** A client that was welcomed. Nothing it sent is left to look at. */
export async function connected(options: ConnectOptions = {}, members: Partial<Welcome> = {}): Promise<Scripted> {
  const server = await scripted(options);
  await greet(server, { grace: options.grace ?? 0, ...members });
  return server;
}

/** Opens the latest socket and welcomes its hello, which it returns. */
export async function greet({ end }: Scripted, members: Partial<Welcome> = {}): Promise<Frame> {
  await end().open();
  const hello = end().one("hello");
  await end().say(welcome(members));
  return hello;
}

/** Acquires `key` and grants it. */
export async function held(
  server: Scripted,
  key: string,
  options: Parameters<IdempotentClient["acquire"]>[1] = {},
  granted: Partial<Extract<ServerFrame, { t: "granted" }>> = {},
): Promise<Lock & { readonly id: string }> {
  const acquiring = server.client.acquire(key, options);
  await settle();
  const { id } = server.end().one("acquire");
  await server.end().say(grantOf(id, key, granted));
  const lock = await acquiring;
  return Object.assign(lock, { id });
}

let fence = 100;

export function grantOf(
  id: string,
  key: string,
  granted: Partial<Extract<ServerFrame, { t: "granted" }>> = {},
): Extract<ServerFrame, { t: "granted" }> {
  fence += 1;
  return {
    t: "granted",
    id,
    key,
    token: `token-${id}`,
    fence,
    mode: "exclusive",
    reentrant: false,
    depth: 1,
    ...granted,
  };
}

export function claimOf(id: string, key: string, state: ClaimTold["state"], told: Partial<ClaimTold> = {}): ClaimTold {
  return { id, key, state, mode: "exclusive", ticket: 1, ...told };
}

/** Pings and acks for so long, as a server in good health does. */
export async function beat({ time, end }: Scripted, ms: number, everyMs = 5_000): Promise<void> {
  for (let gone = everyMs; gone <= ms; gone += everyMs) {
    await time.advance(everyMs);
    await end().say("ping");
    await end().say("ack");
  }
}
