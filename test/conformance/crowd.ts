import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Calm, goesOn } from "./calm.ts";
import { Caller } from "./caller.ts";
import { figure } from "./figures.ts";
import { type Server, startServer } from "./server.ts";
import { openSession } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

/** Far above what it takes: a queue that grows slower with its length would take minutes. */
const QUEUE_MAX_MS = 6000;
const DEADLINE_MS = 15_000;

export function crowd({ runtime }: Subject): void {
  const { waitersMax, claimsPerSessionMax } = runtime;
  let server: Server;

  beforeAll(async () => {
    server = await startServer(runtime);
  });

  afterAll(() => server[Symbol.asyncDispose]());

  const calm = new Calm(2);
  calm.watch();

  test(
    `${waitersMax} may wait for a key, the next is refused, and none of those who wait is lost`,
    { ...calm.options, timeout: 120_000 },
    async () => {
      const key = freshKey();
      using holder = await openSession(server.socketUrl);
      const held = await holder.acquire(key);

      const startedAt = performance.now();
      const sessions = Array.from({ length: waitersMax / claimsPerSessionMax }, () =>
        fill(server.socketUrl, key, claimsPerSessionMax),
      );
      const answers = await Promise.all(sessions.map(({ answered }) => answered));
      const tookMs = figure(runtime, `${waitersMax} waiters queued on one key`, [performance.now() - startedAt]);
      expect(tookMs).toBeLessThan(QUEUE_MAX_MS);
      expect(answers).toEqual(sessions.map(() => ({ queued: claimsPerSessionMax })));

      const refused = await holder.ask({ t: "acquire", key }, "refused");
      expect(refused).toMatchObject({ code: "limit", limit: "waiters_per_key", retryable: true });
      const answer = await new Caller(server.url).acquire(key);
      expect(answer).toMatchObject({ status: 429, body: { code: "limit", limit: "waiters_per_key", retryable: true } });
      expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
      // A try does not wait, so it is answered as ever.
      await holder.ask({ t: "acquire", key, timeout: 0 }, "timeout");
      expect((await holder.status(key)).waiting).toBe(waitersMax);

      const endedAt = performance.now();
      for (const { socket } of sessions) socket.terminate();
      while ((await holder.status(key)).waiting > 0);
      figure(runtime, `${waitersMax} waiters gone with their sessions`, [performance.now() - endedAt]);
      await holder.release(held);
      expect(await holder.status(key)).toMatchObject({ status: "free", waiting: 0 });
    },
  );

  test(`a session may have ${claimsPerSessionMax} claims, and the next is refused`, { timeout: 30_000 }, async () => {
    const key = freshKey();
    using holder = await openSession(server.socketUrl);
    await holder.acquire(key);
    const { socket, answered } = fill(server.socketUrl, key, claimsPerSessionMax + 1);
    expect(await answered).toEqual({ queued: claimsPerSessionMax, refused: 1 });
    socket.terminate();
  });

  test("a session that sends more than it may is closed 4429, and the next in line has its lock", async () => {
    const key = freshKey();
    using flooding = await openSession(server.socketUrl);
    using other = await openSession(server.socketUrl);
    await flooding.acquire(key);
    const waiting = await other.queue(key);
    for (let frame = 0; frame < 100_000; frame++) flooding.send('{"t":"cancel","id":"nothing"}');
    expect((await flooding.closed).code).toBeOneOf(runtime.closesPatiently ? [4429] : [4429, 1006]);
    await other.granted(waiting);
  });
}

/** Of the server alone, which a store has no part in. */
export function slowReaders({ runtime }: Subject): void {
  let server: Server;

  beforeAll(async () => {
    server = await startServer(runtime);
  });

  afterAll(() => server[Symbol.asyncDispose]());

  const calm = new Calm();
  calm.watch(() => [goesOn(server)]);

  test(
    "a session that does not read what it is sent is dropped, and the next in line has its lock",
    calm.options,
    async () => {
      const key = freshKey();
      using other = await openSession(server.socketUrl);
      const keys = Array.from({ length: 1000 }, (_, i) => `crowd-${i}`);
      await Promise.all(keys.map((each) => other.acquire(each, { meta: "x".repeat(1000) })));
      using slow = await openSession(server.socketUrl);
      await slow.acquire(key);
      const waiting = await other.queue(key);
      slow.pause();
      // A page is a megabyte. Some of them fit into the buffers of the system, which are not the server's.
      for (let page = 0; page < 60; page++) slow.send({ t: "list", id: `page-${page}`, count: 1000 });
      const startedAt = performance.now();
      await other.granted(waiting);
      expect(performance.now() - startedAt).toBeLessThan(DEADLINE_MS / 2);
    },
  );
}

/** One session that fills its share of the queue. It counts answers and keeps none, so that it is no slow reader. */
function fill(
  url: string,
  key: string,
  count: number,
): { readonly socket: WebSocket; readonly answered: Promise<Record<string, number>> } {
  const socket = new WebSocket(url, "latchkey.v1", { perMessageDeflate: false });
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, number>>();
  const counts: Record<string, number> = {};
  let open = count;
  socket.once("open", () => socket.send('{"t":"hello","v":1}'));
  socket.once("close", (code) => reject(new Error(`closed with ${code} after ${JSON.stringify(counts)}`)));
  socket.on("message", (bytes: Buffer) => {
    const text = bytes.toString();
    if (text === "ping") return socket.send("pong");
    if (text === "ack") return undefined;
    const frames = (text.startsWith("[") ? JSON.parse(text) : [{ t: /^\{"t":"(\w+)"/.exec(text)?.[1] ?? text }]) as {
      readonly t: string;
    }[];
    if (frames[0]?.t === "welcome") {
      for (let id = 0; id < count; id++) socket.send(`{"t":"acquire","id":"${id}","key":"${key}"}`);
      return undefined;
    }
    for (const { t } of frames) counts[t] = (counts[t] ?? 0) + 1;
    open -= frames.length;
    if (open === 0) resolve(counts);
    return undefined;
  });
  return { socket, answered: promise };
}
