import { expect, test } from "vitest";
import { Calm, goesOn } from "./calm.ts";
import { Caller } from "./caller.ts";
import { openSession } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

export function queue(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);

  test("sessions and HTTP callers stand in one queue, and are granted in order of arrival", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    using other = await openSession(subject.socketUrl);
    let held = await session.acquire(key);

    const second = caller().acquire(key);
    await caller().waiting(key, 1);
    const third = await other.queue(key);
    expect(third.position).toBe(2);
    const fourth = caller().acquire(key);
    await caller().waiting(key, 3);
    const fifth = await session.queue(key);
    expect(fifth.position).toBe(4);
    expect(fifth.ticket).toBeGreaterThan(third.ticket);

    await session.release(held);
    const { body } = await second;
    expect(body.fence).toBeGreaterThan(held.fence);
    await caller().release(key, { token: body.token });
    held = await other.granted(third);
    await other.release(held);
    const { body: fourthBody } = await fourth;
    expect(fourthBody.fence).toBeGreaterThan(held.fence);
    await caller().release(key, { token: fourthBody.token });
    expect((await session.granted(fifth)).fence).toBeGreaterThan(fourthBody.fence);
  });

  test("a writer is not overtaken by readers, and readers behind it are granted together", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const reader = await session.acquire(key, { mode: "shared" });
    const second = await session.acquire(key, { mode: "shared" });
    const writer = await session.queue(key);
    const third = await session.queue(key, { mode: "shared" });
    const fourth = caller().acquire(key, { mode: "shared" });
    await caller().waiting(key, 3);

    expect(await session.ask({ t: "acquire", key, mode: "shared", timeout: 0 }, "timeout")).toBeDefined();
    await session.release(reader);
    expect(await session.unread()).toEqual([]);
    await session.release(second);
    const written = await session.granted(writer);
    expect(await session.unread()).toEqual([]);
    await session.release(written);
    expect((await session.granted(third)).mode).toBe("shared");
    expect((await fourth).body).toMatchObject({ status: "acquired", mode: "shared" });
  });

  test.each(["cancel", "timeout", "drop"])(
    "readers behind a writer that leaves by %s are granted at once",
    calm.options,
    async (way) => {
      const key = freshKey();
      using session = await openSession(subject.socketUrl);
      using writers = await openSession(subject.socketUrl);
      await session.acquire(key, { mode: "shared" });
      const writer = await writers.queue(key, way === "timeout" ? { timeout: 50 } : {});
      const reader = await session.queue(key, { mode: "shared" });
      const startedAt = performance.now();
      if (way === "cancel") await writers.ask({ t: "cancel", id: writer.id }, "cancelled");
      if (way === "drop") await writers.break();
      await session.granted(reader);
      expect(performance.now() - startedAt).toBeLessThan(500);
    },
  );

  test("nobody overtakes a waiter, not even a try that could share", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    await session.acquire(key, { mode: "shared" });
    await session.queue(key);
    const answer = await caller().acquire(key, { mode: "shared", timeout: 0, on_timeout: "ok" });
    expect(answer.body).toEqual({ status: "timeout" });
  });

  test("with a limit of 3 three hold and the fourth waits for any of them", async () => {
    const key = freshKey();
    const asked = { mode: "shared", limit: 3 } as const;
    using session = await openSession(subject.socketUrl);
    await session.acquire(key, asked);
    const second = await session.acquire(key, asked);
    const third = await caller().acquire(key, asked);
    expect(third.status).toBe(200);
    const fourth = await session.queue(key, asked);
    expect(await session.status(key)).toMatchObject({ limit: 3, waiting: 1, holders: [{}, {}, {}] });
    await session.release(second);
    await session.granted(fourth);
  });

  test("a claim that disagrees about the limit is refused and changes nothing", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    await session.acquire(key, { mode: "shared", limit: 2 });
    for (const fields of [{ mode: "shared", limit: 3 }, { mode: "shared" }, {}]) {
      const refused = await session.ask({ t: "acquire", key, ...fields }, "refused");
      expect(refused).toMatchObject({ code: "limit_mismatch", retryable: true });
      expect(await caller().acquire(key, fields)).toMatchObject({ status: 409, body: { code: "limit_mismatch" } });
    }
    expect(await session.status(key)).toMatchObject({ waiting: 0, limit: 2 });
  });

  test("a cancelled wait leaves the queue in the same step", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const second = await session.queue(key);
    const third = await session.queue(key);
    await session.ask({ t: "cancel", id: second.id }, "cancelled");
    expect((await session.status(key)).waiting).toBe(1);
    await session.release(held);
    await session.granted(third);
  });

  test("a cancel that crosses the grant releases, and one that comes after the end is answered by nothing", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const second = await session.queue(key);
    await session.ask({ t: "cancel", id: held.id }, "cancelled");
    await session.granted(second);
    session.send({ t: "cancel", id: held.id });
    session.send({ t: "cancel", id: "never-heard-of" });
    expect(await session.unread()).toEqual([]);
    expect((await session.status(key)).status).toBe("held");
  });

  test("a wait that is over is told once, and the claim has no turn later", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const waiting = await session.queue(key, { timeout: 30 });
    await session.next("timeout", waiting.id);
    await session.release(held);
    expect(await session.status(key)).toMatchObject({ status: "free", holders: [], waiting: 0 });
    expect(await session.unread()).toEqual([]);
  });

  test("the end of a lease passes the key on and tells the one who had it", calm.options, async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using next = await openSession(subject.socketUrl);
    const startedAt = performance.now();
    const held = await holder.acquire(key, { ttl: 150 });
    const waiting = await next.queue(key);
    const granted = await next.granted(waiting);
    const tookMs = performance.now() - startedAt;
    expect(granted.fence).toBeGreaterThan(held.fence);
    expect(tookMs).toBeGreaterThan(140);
    expect(tookMs).toBeLessThan(650);
    expect(await holder.next("lost", held.id)).toMatchObject({ key, reason: "expired" });
  });

  test("extending moves the end of the lease, and nobody is granted before", calm.options, async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using next = await openSession(subject.socketUrl);
    const held = await holder.acquire(key, { ttl: 150 });
    const startedAt = performance.now();
    const extended = await holder.ask({ t: "extend", key, token: held.token, ttl: 400 }, "extended");
    expect(extended).toMatchObject({ key, fence: held.fence, ttl: 400 });
    const waiting = await next.queue(key);
    await next.granted(waiting);
    expect(performance.now() - startedAt).toBeGreaterThan(390);
  });

  test("an HTTP caller's lease ends without a word, and a waiter elsewhere has the key", async () => {
    const key = freshKey();
    const { body } = await caller().acquire(key, { ttl: 150 });
    expect((await caller().acquire(key)).body.fence).toBeGreaterThan(body.fence);
    for (const answer of [
      await caller().extend(key, { token: body.token, ttl: 5000 }),
      await caller().release(key, { token: body.token }),
      await caller().acquire(key, { token: body.token }),
    ]) {
      expect(answer).toMatchObject({ status: 410, body: { code: "lost", reason: "expired", retryable: false } });
    }
  });
}
