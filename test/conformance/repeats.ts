import { once } from "node:events";
import { expect, test } from "vitest";
import { acquireByHand, type Leave, readAnswer } from "./by-hand.ts";
import { Calm, goesOn } from "./calm.ts";
import { Caller } from "./caller.ts";
import { usuallyWithin } from "./figures.ts";
import { openSession } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

/** Within this the queue forgets a caller that has hung up. */
const HANG_UP_MAX_MS = 100;
const ROUNDS = 5;

export function repeats(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);
  const idempotency = (id: string): { headers: Record<string, string> } => ({ headers: { "idempotency-key": id } });

  test("five equal requests at once are one claim: one place in the queue, one grant for all", async () => {
    const key = freshKey();
    const id = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const requests = Array.from({ length: 5 }, () => caller().acquire(key, { request_id: id }));
    await caller().waiting(key, 1);
    const behind = await session.queue(key);
    expect(behind.position).toBe(2);
    await session.release(held);
    const answers = await Promise.all(requests);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.token)).size).toBe(1);
    expect((await session.status(key)).holders).toHaveLength(1);
  });

  test("a repeated request has the grant it had, also when the key is free again", async () => {
    const key = freshKey();
    const id = freshKey();
    const { body: first } = await caller().acquire(key, { ttl: 60_000 }, idempotency(id));
    const { body: again } = await caller().acquire(key, { ttl: 60_000 }, idempotency(id));
    expect(again).toMatchObject({ token: first.token, fence: first.fence, reentrant: false });
    await caller().release(key, { token: first.token });
    const ended = await caller().acquire(key, { ttl: 60_000 }, idempotency(id));
    expect(ended.status).not.toBe(200);
    expect((await caller().status(key)).body.status).toBe("free");
  });

  test("the id may be quoted or bare in the header, or stand in the body", async () => {
    const key = freshKey();
    const id = freshKey();
    const answers = [
      await caller().acquire(key, {}, idempotency(`"${id}"`)),
      await caller().acquire(key, {}, idempotency(id)),
      await caller().acquire(key, { request_id: id }),
    ];
    expect(new Set(answers.map(({ body }) => body.token)).size).toBe(1);
    expect(answers[0]!.body.token).toEqual(expect.any(String));
  });

  test("the same id with other arguments is 422 and changes nothing", async () => {
    const [key, other, id] = [freshKey(), freshKey(), freshKey()];
    await caller().acquire(key, { ttl: 5000 }, idempotency(id));
    const problem = { status: 422, body: { code: "request_mismatch", retryable: false } };
    expect(await caller().acquire(key, { ttl: 6000 }, idempotency(id))).toMatchObject(problem);
    expect(await caller().acquire(other, { ttl: 5000 }, idempotency(id))).toMatchObject(problem);
    expect((await caller().status(other)).body.status).toBe("free");
  });

  test("ids belong to a space", async () => {
    const [key, id] = [freshKey(), freshKey()];
    const here = await caller().acquire(key, { request_id: id });
    const there = await new Caller(subject.url, { space: "there" }).acquire(key, { request_id: id, ttl: 5000 });
    expect(there.status).toBe(200);
    expect(there.body.token).not.toBe(here.body.token);
  });

  test("the wait of a repeated request does not start again", calm.options, async () => {
    const [key, id] = [freshKey(), freshKey()];
    using session = await openSession(subject.socketUrl);
    await session.acquire(key);
    const first = caller().acquire(key, { timeout: 400 }, idempotency(id));
    await session.ask({ t: "acquire", key, timeout: 200 }, "queued");
    await session.next("timeout");
    const second = caller().acquire(key, { timeout: 400 }, idempotency(id));
    const fresh = caller().acquire(key, { timeout: 300 }, idempotency(freshKey()));
    const over: string[] = [];
    await Promise.all([
      second.then(({ status }) => over.push(`repeated ${status}`)),
      fresh.then(({ status }) => over.push(`fresh ${status}`)),
    ]);
    expect(over).toEqual(["repeated 408", "fresh 408"]);
    expect((await first).status).toBe(408);
    expect((await caller().acquire(key, { timeout: 400 }, idempotency(id))).status).toBe(408);
  });

  test("in a session the frame's id is the request: repeated it is the same claim, otherwise a mismatch", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key, { id: "a" });
    expect(await session.acquire(key, { id: "a" })).toMatchObject({ token: held.token, fence: held.fence });
    const waiting = await session.queue(key, { id: "b" });
    expect(await session.queue(key, { id: "b" })).toMatchObject({ ticket: waiting.ticket, position: 1 });
    const refused = await session.ask({ t: "acquire", key, id: "b", ttl: 1000 }, "refused");
    expect(refused.code).toBe("request_mismatch");
    await session.release(held);
    await session.granted(waiting);
    expect(await session.unread()).toEqual([]);
  });

  test("two sessions may use the same ids", async () => {
    const key = freshKey();
    using one = await openSession(subject.socketUrl);
    using two = await openSession(subject.socketUrl);
    await one.acquire(key, { id: "a" });
    await two.queue(key, { id: "a" });
  });

  const testHangUp = subject.runtime.seesHangUps ? test : () => undefined;

  testHangUp("a caller that hangs up while waiting leaves the queue within 100 ms", async () => {
    const what = "hang-up of a waiting caller until it is out of the queue";
    await usuallyWithin(subject.runtime, what, HANG_UP_MAX_MS, async () => {
      const key = freshKey();
      await caller().acquire(key);
      const hangUp = new AbortController();
      const waiting = caller().acquire(key, {}, { signal: hangUp.signal });
      await caller().waiting(key, 1);
      const startedAt = performance.now();
      hangUp.abort();
      await expect(waiting).rejects.toThrow("aborted");
      await caller().waiting(key, 0);
      return performance.now() - startedAt;
    });
  });

  test("a caller that has hung up has no turn, however shortly before the grant", async () => {
    using session = await openSession(subject.socketUrl);
    for (let round = 0; round < 4 * ROUNDS; round++) {
      const key = freshKey();
      const held = await session.acquire(key);
      const connection = await acquireByHand(subject.url, key);
      await caller().waiting(key, 1);
      const behind = await session.queue(key);
      // The end of one connection and the release on the other leave in the same moment, in this order.
      connection.destroy();
      await session.release(held);
      await session.release(await session.granted(behind));
    }
  });

  test("a caller that closes as soon as it has its answer keeps the lock", async () => {
    using session = await openSession(subject.socketUrl);
    const keys = Array.from({ length: 4 * ROUNDS }, freshKey);
    const fences: unknown[] = [];
    for (const key of keys) {
      const held = await session.acquire(key);
      const connection = await acquireByHand(subject.url, key);
      await caller().waiting(key, 1);
      const [answer] = await Promise.all([readAnswer(connection), session.release(held)]);
      connection.destroy();
      await once(connection, "close");
      fences.push(answer["fence"]);
    }
    // A server that took those ends for hang-ups would have let go of the first ones by now.
    for (const [at, key] of keys.entries()) {
      const isHeld = { status: "held", waiting: 0, holders: [{ fence: fences[at] }] };
      expect(await session.status(key)).toMatchObject(isHeld);
    }
  });

  test.each<Leave>(["destroy", "resetAndDestroy"])(
    "so does one that did not wait, however it leaves (%s) and however soon",
    async (leave) => {
      const keys = Array.from({ length: 4 * ROUNDS }, freshKey);
      for (const key of keys) {
        const connection = await acquireByHand(subject.url, key);
        await once(connection, "data");
        connection[leave]();
        await once(connection, "close");
      }
      for (const key of keys) expect((await caller().status(key)).body).toMatchObject({ status: "held" });
    },
  );

  testHangUp("after a hang-up the request id is fresh again", async () => {
    const [key, id] = [freshKey(), freshKey()];
    using session = await openSession(subject.socketUrl);
    await session.acquire(key);
    const hangUp = new AbortController();
    const gone = caller().acquire(key, {}, { ...idempotency(id), signal: hangUp.signal });
    await caller().waiting(key, 1);
    const behind = await session.queue(key);
    hangUp.abort();
    await expect(gone).rejects.toThrow("aborted");
    await caller().waiting(key, 1);
    const again = caller().acquire(key, {}, idempotency(id));
    await caller().waiting(key, 2);
    expect(await session.queue(key, { id: behind.id })).toMatchObject({ position: 1 });
    session.send({ t: "bye" });
    expect((await again).status).toBe(200);
  });

  test("one of two equal callers that hangs up does not take the place of the other", async () => {
    const [key, id] = [freshKey(), freshKey()];
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const hangUp = new AbortController();
    const gone = caller().acquire(key, {}, { ...idempotency(id), signal: hangUp.signal });
    await caller().waiting(key, 1);
    const stays = caller().acquire(key, {}, idempotency(id));
    // A later request on the same server: when it is answered the one before it has been read.
    const marker = await caller().acquire(freshKey(), {});
    expect(marker.status).toBe(200);
    hangUp.abort();
    await expect(gone).rejects.toThrow("aborted");
    await session.release(held);
    expect((await stays).status).toBe(200);
  });
}
