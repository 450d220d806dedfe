/** Sessions and callers inside workerd, and what can be done there to the object that serves them. */

import { env, exports } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { ServerFrame } from "../../../src/protocol/server-frames.ts";
import type { LockObject } from "../../../src/workers/objects.ts";
import type { ObjectContext, UpgradeResponse, WorkerSocket } from "../../../src/workers/platform.ts";

const ORIGIN = "http://localhost";
let spaceCount = 0;

type FrameOf<T extends ServerFrame["t"]> = Extract<ServerFrame, { t: T }>;

/** A space of its own for each test. */
export class World {
  readonly space: string = `test-${++spaceCount}`;
  readonly object: LockObject = env.LOCKS.getByName(this.space);

  async open(hello: object = {}, { silent = false } = {}): Promise<Session> {
    const session = new Session(await this.connect(), silent);
    session.send({ t: "hello", v: 1, ...hello });
    session.welcome = await session.next("welcome");
    return session;
  }

  async connect(): Promise<WorkerSocket> {
    const headers = { upgrade: "websocket", "sec-websocket-protocol": "latchkey.v1" };
    const request = new Request(`${ORIGIN}/v1/session?space=${this.space}`, { headers });
    const response: UpgradeResponse = await exports.default.fetch(request);
    if (!response.webSocket) throw new Error(`refused: ${response.status} ${await response.text()}`);
    return response.webSocket;
  }

  async call(path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }> {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await exports.default.fetch(new Request(`${ORIGIN}/v1/latch/${path}?space=${this.space}`, init));
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  sleep(): Promise<void> {
    return evictDurableObject(this.object, { webSockets: "hibernate" });
  }

  /** The process is gone, and with it all sockets, of which no event tells. */
  restart(): Promise<void> {
    return evictDurableObject(this.object, { webSockets: "close" });
  }

  inside<R>(work: (ctx: ObjectContext, instance: { alarm(): void }) => R | Promise<R>): Promise<R> {
    return runInDurableObject(this.object, (instance, ctx) => work(ctx, instance));
  }

  rows(table: string): Promise<readonly Record<string, unknown>[]> {
    return this.inside((ctx) => ctx.storage.sql.exec(`SELECT * FROM ${table}`).toArray());
  }
}

export class Session {
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  welcome: FrameOf<"welcome"> | undefined;
  readonly frames: string[] = [];
  readonly #ws: WorkerSocket;
  #onFrame: () => void = () => {};
  #lastId = 0;

  constructor(ws: WorkerSocket, silent: boolean) {
    this.#ws = ws;
    this.closed = new Promise((resolve) => {
      ws.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
    });
    ws.addEventListener("message", ({ data }) => {
      if (data === "ping" && !silent) ws.send("pong");
      const text = data as string;
      const frames = text.startsWith("[")
        ? (JSON.parse(text) as object[]).map((frame) => JSON.stringify(frame))
        : [text];
      this.frames.push(...frames);
      this.#onFrame();
    });
    ws.accept();
  }

  send(frame: object | string): void {
    this.#ws.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  close(code: number): void {
    this.#ws.close(code, "");
  }

  async nextBare(text: string): Promise<void> {
    await this.#take((candidate) => candidate === text, text);
  }

  async next<T extends ServerFrame["t"]>(t: T, id?: string): Promise<FrameOf<T>> {
    const text = await this.#take((candidate) => {
      if (!candidate.startsWith("{")) return false;
      const frame = JSON.parse(candidate) as ServerFrame & { id?: string };
      return frame.t === t && (id === undefined || frame.id === id);
    }, t);
    return JSON.parse(text) as FrameOf<T>;
  }

  acquire<T extends "granted" | "queued" | "refused" | "timeout" = "granted">(
    key: string,
    { answer, ...rest }: { readonly answer?: T } & Record<string, unknown> = {},
  ): Promise<FrameOf<T>> {
    const id = `r${++this.#lastId}`;
    this.send({ t: "acquire", id, key, ...rest });
    return this.next((answer ?? "granted") as T, id);
  }

  release({ key, token }: { readonly key: string; readonly token: string }): Promise<FrameOf<"released">> {
    const id = `r${++this.#lastId}`;
    this.send({ t: "release", id, key, token });
    return this.next("released", id);
  }

  async #take(matches: (text: string) => boolean, name: string): Promise<string> {
    for (let patience = 0; patience < 100; patience++) {
      const at = this.frames.findIndex(matches);
      if (at !== -1) return this.frames.splice(at, 1)[0] ?? "";
      await new Promise<void>((resolve) => {
        this.#onFrame = resolve;
        // Looked at again, so that one that never comes is told of.
        setTimeout(resolve, 100);
      });
    }
    throw new Error(`no ${name} came; unread: ${this.frames.join(" ")}`);
  }
}
