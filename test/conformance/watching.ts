import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { StateFrame } from "../../src/protocol/watch-told.ts";
import { Caller } from "./caller.ts";
import { openEvents } from "./events.ts";
import { openSession, type TestSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

const BUSY_CHANGES = 300;
const CROWD = 500;

export function watching(subject: Subject): void {
  const session = (hello: object = {}): Promise<TestSocket> => openSession(subject.socketUrl, hello);

  test("a watcher is told at once who holds the key, and then what changes", async () => {
    const key = freshKey();
    using holder = await session({ user: "ada" });
    using watcher = await session();
    const held = await holder.acquire(key, { meta: { color: "red" } });
    const first = await watch(watcher, { key });
    expect(first).toEqual({
      t: "state",
      id: "w",
      full: true,
      keys: [
        {
          key,
          status: "held",
          waiting: 0,
          holders: [
            {
              session: holder.welcome.session,
              user: "ada",
              mode: "exclusive",
              fence: held.fence,
              since: expect.any(Number),
              meta: { color: "red" },
            },
          ],
        },
      ],
    });
    await holder.release(held);
    await state(watcher, (told) => told.status === "free");
  });

  test("who waits is told its place, and who holds the key is told who asks for it", async () => {
    const key = freshKey();
    using holder = await session();
    using first = await session({ user: "bo" });
    using second = await session();
    const held = await holder.acquire(key);
    const waiting = await first.queue(key, { meta: 1 });
    await second.queue(key);
    await watch(holder, { key });
    expect((await watch(second, { key })).keys[0]).toMatchObject({ waiting: 2, position: 2 });
    await first.ask({ t: "request_access", claim: waiting.id, message: "may I?" }, "access_requested");
    const asked = await state(holder, (told) => told.asks !== undefined);
    expect(asked.asks).toEqual([
      { session: first.welcome.session, user: "bo", message: "may I?", meta: 1, since: expect.any(Number) },
    ]);
    await holder.release(held);
    const moved = await state(second, (told) => told.position === 1);
    expect(moved).not.toHaveProperty("asks");
    await state(holder, (told) => told.asks === undefined);
  });

  test("a prefix is watched as a whole: what is there, what comes, and once what is gone", async () => {
    const prefix = `${freshKey()}:`;
    using holder = await session();
    using watcher = await session();
    const held = await holder.acquire(`${prefix}a`);
    const first = await watch(watcher, { prefix });
    expect(first.keys.map(({ key, status }) => [key, status])).toEqual([[`${prefix}a`, "held"]]);
    await holder.acquire(`${prefix}b`);
    await state(watcher, ({ key, status }) => key === `${prefix}b` && status === "held");
    await holder.release(held);
    await state(watcher, ({ key, status }) => key === `${prefix}a` && status === "free");
  });

  test("of a busy key the latest state is told, and not each step", async () => {
    const key = freshKey();
    using holder = await session();
    using watcher = await session();
    await watch(watcher, { key });
    const startedAt = performance.now();
    for (let i = 0; i < BUSY_CHANGES; i++) await holder.release(await holder.acquire(key, { meta: i }));
    const last = await holder.acquire(key, { meta: "last" });
    await state(watcher, ({ holders }) => holders[0]?.meta === "last" && holders[0].fence === last.fence);
    const intervals = (performance.now() - startedAt) / 50;
    expect(told.get(watcher)).toBeLessThan(intervals + 3);
  });

  test("nothing is told of what is not watched any more", async () => {
    const key = freshKey();
    using holder = await session();
    using watcher = await session();
    await watch(watcher, { key });
    await watch(watcher, { key }, "another");
    watcher.send({ t: "unwatch", id: "w" });
    await watcher.next("unwatched", "w");
    const before = await watcher.unread();
    const held = await holder.acquire(key);
    await state(watcher, ({ status }) => status === "held", "another");
    await holder.release(held);
    await state(watcher, ({ status }) => status === "free", "another");
    const isOver = (text: string): boolean => text.includes('"id":"w"');
    expect((await watcher.unread()).filter(isOver)).toEqual(before.filter(isOver));
  });

  test("a session that is resumed watches anew", async () => {
    const key = freshKey();
    using before = await session({ grace: 10_000 });
    await watch(before, { key });
    const { session: id, secret } = before.welcome;
    await before.break();
    using after = await session({ grace: 10_000, resume: { session: id, secret } });
    await after.acquire(key);
    expect((await after.unread()).filter((text) => text.includes('"state"'))).toEqual([]);
    expect((await watch(after, { key })).keys[0]).toMatchObject({ status: "held" });
    after.send({ t: "bye" });
  });

  test("a watcher that does not read is cut, and what it holds goes to the next", async () => {
    const [key, other] = [freshKey(), freshKey()];
    using crowd = await session();
    using slow = await session();
    using next = await session();
    await fill(crowd, key);
    await slow.acquire(other);
    const waiting = await next.queue(other);
    await watch(slow, { key });
    slow.pause();
    const cut = next.granted(waiting);
    const change = async (): Promise<undefined> => {
      await crowd.release(await crowd.acquire(key, { mode: "shared" }));
      return undefined;
    };
    while ((await Promise.race([cut, change()])) === undefined);
  }, 60_000);

  test("server-sent events tell the present state, and then what changes", async () => {
    const key = `${freshKey()}/ü`;
    const caller = new Caller(subject.url);
    using events = await openEvents(`${subject.url}/v1/latch/${encodeURIComponent(key)}/events`);
    expect(events.response.status).toBe(200);
    expect(events.response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(await events.next()).toEqual({ key, status: "free", holders: [], waiting: 0 });
    const { token, fence } = (await caller.acquire(key, { meta: "me" })).body;
    expect(await events.next(({ status }) => status === "held")).toMatchObject({ holders: [{ fence, meta: "me" }] });
    await caller.release(key, { token });
    await events.next(({ status }) => status === "free");
    expect(events.comments).toBeGreaterThan(0);
  });

  test("server-sent events of a prefix tell of each live key, and of those that come and go", async () => {
    const prefix = `${freshKey()}:`;
    const caller = new Caller(subject.url);
    await caller.acquire(`${prefix}a`);
    using events = await openEvents(`${subject.url}/v1/events?prefix=${encodeURIComponent(prefix)}`);
    expect(await events.next()).toMatchObject({ key: `${prefix}a`, status: "held" });
    const { token } = (await caller.acquire(`${prefix}b`)).body;
    await events.next(({ key, status }) => key === `${prefix}b` && status === "held");
    await caller.release(`${prefix}b`, { token });
    await events.next(({ key, status }) => key === `${prefix}b` && status === "free");
  });

  // What a runtime cannot see is no test of it.
  const testHangUp = subject.runtime.seesHangUps ? test : () => undefined;

  testHangUp(
    "a reader of events that does not read is cut",
    async () => {
      const key = freshKey();
      const caller = new Caller(subject.url);
      using crowd = await session();
      await fill(crowd, key);
      const before = await streams(caller);
      const { hostname, port } = new URL(subject.url);
      const slow = connect(Number(port), hostname);
      onTestFinished(() => void slow.destroy());
      slow.write(`GET /v1/latch/${key}/events HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);
      await once(slow, "data");
      slow.pause();
      await expect.poll(() => streams(caller), { timeout: 5000 }).toBe(before + 1);
      while ((await streams(caller)) > before) await crowd.release(await crowd.acquire(key, { mode: "shared" }));
    },
    60_000,
  );

  testHangUp("a reader of events that hangs up leaves nothing behind", async () => {
    const caller = new Caller(subject.url);
    const before = await streams(caller);
    const events = await openEvents(`${subject.url}/v1/latch/${freshKey()}/events`);
    await events.next();
    expect(await streams(caller)).toBe(before + 1);
    events[Symbol.dispose]();
    await expect.poll(() => streams(caller), { timeout: 5000 }).toBe(before);
  });
}

/** How many states each watcher was told. */
const told = new WeakMap<TestSocket, number>();

async function watch(socket: TestSocket, target: object, id = "w"): Promise<StateFrame> {
  return socket.ask({ t: "watch", id, ...target }, "state");
}

/** The next entry that a test wants: each is only the latest of its time, so those before it mean nothing. */
async function state(
  socket: TestSocket,
  isWanted: (told: StateFrame["keys"][number]) => boolean,
  id = "w",
): Promise<StateFrame["keys"][number]> {
  for (;;) {
    const { keys } = await socket.next("state", id);
    told.set(socket, (told.get(socket) ?? 0) + 1);
    const wanted = keys.find(isWanted);
    if (wanted !== undefined) return wanted;
  }
}

/** So many hold the key that each of its states is half a mebibyte. */
async function fill(crowd: TestSocket, key: string): Promise<void> {
  for (let i = 0; i < CROWD; i++)
    crowd.send({ t: "acquire", id: `c${i}`, key, mode: "shared", meta: "x".repeat(1000) });
  await crowd.next("granted", `c${CROWD - 1}`);
}

async function streams(caller: Caller): Promise<number> {
  const { body } = await caller.request("GET", "/metrics");
  return Number(/^latchkey_event_streams (\d+)$/m.exec(body)?.[1]);
}
