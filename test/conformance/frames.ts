import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { Calm, goesOn } from "./calm.ts";
import { openSession, openSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

/** Long before a ping would find out. */
const CLOSE_MAX_MS = 2500;
const FRAME_BYTES_MAX = 2 * 1024 * 1024;

export function frames(subject: Subject): void {
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);

  test.each([
    ["another frame", JSON.stringify({ t: "status", id: "a", key: "k" })],
    ["no JSON", "hello"],
    ["JSON that is no object", "[]"],
    ["a hello without a version", JSON.stringify({ t: "hello" })],
    ["a hello with a wrong grace", JSON.stringify({ t: "hello", v: 1, grace: -1 })],
    ["a hello with a wrong space", JSON.stringify({ t: "hello", v: 1, space: "a b" })],
    ["a hello with too much meta", JSON.stringify({ t: "hello", v: 1, meta: "x".repeat(1023) })],
  ])("before hello a bad frame closes 4400, and an error says why: %s", async (_, text) => {
    using socket = await openSocket(subject.socketUrl);
    socket.send(text);
    expect(await socket.next("error")).toMatchObject({ code: expect.any(String), detail: expect.any(String) });
    expect((await socket.closed).code).toBe(4400);
  });

  test("a version that the server does not speak closes 4426", async () => {
    using socket = await openSocket(subject.socketUrl);
    socket.send({ t: "hello", v: 2 });
    expect((await socket.closed).code).toBe(4426);
  });

  test("before hello a binary frame closes 4400", async () => {
    using socket = await openSocket(subject.socketUrl);
    socket.send(Buffer.from(JSON.stringify({ t: "hello", v: 1 })));
    expect((await socket.closed).code).toBe(4400);
  });

  test("a binary frame closes 4400", async () => {
    using session = await openSession(subject.socketUrl);
    session.send(Buffer.from(JSON.stringify({ t: "status", id: "a", key: "k" })));
    expect((await session.closed).code).toBe(4400);
  });

  test.each([
    ["no JSON", "{", "bad_json"],
    ["an empty frame", "", "bad_json"],
    ["no object", "7", "bad_request"],
    ["no type", '{"id":""}', "bad_request"],
    ["no id", JSON.stringify({ t: "acquire", key: "k" }), "bad_request"],
    ["an empty id", JSON.stringify({ t: "acquire", id: "", key: "k" }), "bad_request"],
    ["an id that is too long", JSON.stringify({ t: "acquire", id: "i".repeat(256), key: "k" }), "bad_request"],
    ["an unknown type", JSON.stringify({ t: "steal" }), "unknown_frame"],
    ["a second hello", JSON.stringify({ t: "hello", v: 1 }), "bad_request"],
  ])(
    "in a session a bad frame without a usable id is answered by an error and loses nothing: %s",
    async (_, text, code) => {
      const key = freshKey();
      using session = await openSession(subject.socketUrl);
      await session.acquire(key);
      session.send(text);
      expect(await session.next("error")).toMatchObject({ code, detail: expect.any(String) });
      expect((await session.status(key)).status).toBe("held");
    },
  );

  test("an unknown type with an id is refused under that id", async () => {
    using session = await openSession(subject.socketUrl);
    const refused = await session.ask({ t: "dance" }, "refused");
    expect(refused).toMatchObject({ code: "unknown_frame", retryable: false });
  });

  test.each([
    { ttl: 0 },
    { ttl: -1 },
    { ttl: 1.5 },
    { ttl: "5" },
    { ttl: 1e12 },
    { ttl: null },
    { timeout: -1 },
    { timeout: 86_400_001 },
    { timeout: "5" },
    { key: 5 },
    { key: null },
    { mode: "writer" },
    { limit: 1 },
    { keep: true },
    { nest: true },
  ])("a wrong field is refused and changes nothing: %j", async (fields) => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const refused = await session.ask({ t: "acquire", key, ...fields }, "refused");
    expect(refused).toMatchObject({ retryable: false, detail: expect.any(String) });
    expect(refused.code).toBeOneOf(["bad_request", "bad_key"]);
    expect((await session.status(key)).status).toBe("free");
  });

  test("meta and message may have 1 KiB, counted in bytes", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl, { meta: "x".repeat(1022) });
    const held = await session.acquire(key, { meta: "é".repeat(511) });
    await session.acquire(key, { steal: true, message: "é".repeat(512) });
    expect(await session.next("lost", held.id)).toMatchObject({ by: { message: "é".repeat(512) } });
    await session.ask({ t: "acquire", key, meta: "é".repeat(512) }, "refused");
    await session.ask({ t: "acquire", key, steal: true, message: `${"é".repeat(512)}x` }, "refused");
  });

  test.each([
    ["letters", "x"],
    ["characters of three bytes", "日"],
  ])("a frame of exactly 2 MiB is read, and its unknown members are ignored: %s", async (_, character) => {
    using session = await openSession(subject.socketUrl);
    session.send(frameOf(FRAME_BYTES_MAX, character));
    expect(await session.next("status", "big")).toMatchObject({ key: "k" });
  });

  test.each([
    ["letters", "x"],
    ["characters of three bytes", "日"],
  ])("a frame with one byte more closes 4413: %s", async (_, character) => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    using next = await openSession(subject.socketUrl);
    await session.acquire(key);
    const waiting = await next.queue(key);
    session.send(frameOf(FRAME_BYTES_MAX + 1, character));
    expect((await session.closed).code).toBe(4413);
    await next.granted(waiting);
  });

  test("a frame far past the limit ends the session too, whoever refuses it", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    using next = await openSession(subject.socketUrl);
    await session.acquire(key);
    const waiting = await next.queue(key);
    session.send(frameOf(10 * FRAME_BYTES_MAX, "x"));
    expect((await session.closed).code).toBe(subject.runtime.hugeFrameCode);
    await next.granted(waiting);
  });

  test("a frame may come in fragments", async () => {
    const socket = new WebSocket(subject.socketUrl, "latchkey.v1");
    await once(socket, "open");
    const fragments = ['{"t":"he', 'llo","', 'v":1}'];
    for (const [i, text] of fragments.entries()) socket.send(text, { fin: i === fragments.length - 1 });
    const [welcome] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(welcome.toString())).toMatchObject({ t: "welcome" });
    socket.terminate();
  });

  test(
    "a close frame ends a session, even if the peer reads no answer and leaves its connection open",
    calm.options,
    async () => {
      const key = freshKey();
      using next = await openSession(subject.socketUrl);
      const leaving = new WebSocket(subject.socketUrl, "latchkey.v1");
      await once(leaving, "open");
      leaving.send(
        JSON.stringify([
          { t: "hello", v: 1 },
          { t: "acquire", id: "a", key },
        ]),
      );
      while ((await next.status(key)).status === "free");
      const waiting = await next.queue(key);
      leaving.pause();
      const leftAt = performance.now();
      leaving.close(1000, "done");
      await next.granted(waiting);
      expect(performance.now() - leftAt).toBeLessThan(CLOSE_MAX_MS);
      leaving.terminate();
    },
  );

  test("a close reason is a text that a log can keep", async () => {
    using socket = await openSocket(subject.socketUrl);
    socket.send({ t: "hello", v: 99 });
    const { reason } = await socket.closed;
    expect(reason.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
  });
}

/** A status frame that a member of no meaning fills up to so many bytes. */
function frameOf(bytes: number, character: string): string {
  const frame = (pad: string): string => JSON.stringify({ t: "status", id: "big", key: "k", pad });
  const room = bytes - frame("").length;
  const characters = Math.floor(room / Buffer.byteLength(character));
  return frame(character.repeat(characters) + "x".repeat(room - characters * Buffer.byteLength(character)));
}
