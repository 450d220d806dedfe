import { expect, test } from "vitest";
import { Caller } from "./caller.ts";
import { openSession } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

export function asking(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);

  test("a lock is handed to a named waiter past the queue, and the queue goes on from there", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using first = await openSession(subject.socketUrl);
    using second = await openSession(subject.socketUrl);
    const held = await holder.acquire(key);
    const [before, named] = [await first.queue(key), await second.queue(key)];
    const { session } = second.welcome;
    const handed = await holder.ask({ t: "hand_to", key, token: held.token, session }, "released");
    expect(handed).toMatchObject({ depth: 0 });
    const granted = await second.granted(named);
    expect(granted.fence).toBeGreaterThan(held.fence);
    expect(await first.unread()).toEqual([]);
    expect(await holder.unread()).toEqual([]);

    const again = await holder.ask({ t: "hand_to", key, token: held.token, session }, "released");
    expect(again).toMatchObject({ depth: 0, already: true });
    await second.release(granted);
    await first.granted(before);
  });

  test("a nested lock is handed over whatever its depth, over HTTP too", async () => {
    const key = freshKey();
    using waiter = await openSession(subject.socketUrl);
    const { body } = await caller().acquire(key);
    await caller().acquire(key, { token: body.token, nest: true });
    const queued = await waiter.queue(key);
    const asked = { token: body.token, hand_to: waiter.welcome.session };
    expect(await caller().release(key, asked)).toMatchObject({ status: 200, body: { status: "released" } });
    expect((await waiter.granted(queued)).fence).toBeGreaterThan(body.fence);
    expect(await caller().release(key, asked)).toMatchObject({
      status: 200,
      body: { status: "released", already: true },
    });
  });

  test("a hand-over to a session that does not wait, or whose connection broke, leaves the lock with its holder", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using gone = await openSession(subject.socketUrl);
    const { token } = await holder.acquire(key);
    await gone.queue(key);
    const { session } = gone.welcome;
    await gone.break();
    await caller().waiting(key, 0);
    for (const to of [session, holder.welcome.session, "nobody"]) {
      const refused = await holder.ask({ t: "hand_to", key, token, session: to }, "refused");
      expect(refused).toMatchObject({ code: "not_waiting", retryable: false });
      expect(await caller().release(key, { token, hand_to: to })).toMatchObject({
        status: 409,
        body: { code: "not_waiting", key },
      });
    }
    expect(await holder.status(key)).toMatchObject({ status: "held", holders: [{ session: holder.welcome.session }] });
  });

  test("a hand-over to a session within its grace reaches it when it resumes", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using away = await openSession(subject.socketUrl, { grace: 10_000 });
    const { token } = await holder.acquire(key);
    const queued = await away.queue(key);
    const { session, secret } = away.welcome;
    await away.break();
    await holder.ask({ t: "hand_to", key, token, session }, "released");
    using back = await openSession(subject.socketUrl, { resume: { session, secret } });
    expect(back.welcome.claims).toMatchObject([{ id: queued.id, key, state: "holding" }]);
  });

  test("a writer is handed nothing while others read, and a reader takes a reader's place", async () => {
    const key = freshKey();
    using readers = await openSession(subject.socketUrl);
    using writer = await openSession(subject.socketUrl);
    using late = await openSession(subject.socketUrl);
    const [one, two] = [await readers.acquire(key, { mode: "shared" }), await readers.acquire(key, { mode: "shared" })];
    const [writes, reads] = [await writer.queue(key), await late.queue(key, { mode: "shared" })];
    const handTo = { t: "hand_to", key, session: writer.welcome.session };
    const refused = await readers.ask({ ...handTo, token: one.token }, "refused");
    expect(refused).toMatchObject({ code: "shared_holders", retryable: true });
    const asked = { token: one.token, hand_to: writer.welcome.session };
    expect(await caller().release(key, asked)).toMatchObject({ status: 409, body: { code: "shared_holders" } });

    await readers.ask({ ...handTo, token: one.token, session: late.welcome.session }, "released");
    const taken = await late.granted(reads);
    expect(await writer.unread()).toEqual([]);
    await late.ask({ ...handTo, token: two.token }, "refused");
    await readers.release(two);
    await late.release(taken);
    await writer.granted(writes);
  });

  test("a hand-over that crosses a cancel leaves the key with one owner, whichever is first", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using waiter = await openSession(subject.socketUrl);
    using next = await openSession(subject.socketUrl);
    const { token } = await holder.acquire(key);
    const [named, other] = [await waiter.queue(key), await next.queue(key)];
    const handOver = { t: "hand_to", id: "hand", key, token, session: waiter.welcome.session };
    holder.send(handOver);
    waiter.send({ t: "cancel", id: named.id });
    await waiter.next("cancelled", named.id);
    const answer = await holder.nextFor("hand");
    // The cancel was first: the holder still has the key.
    if (answer.t !== "released") {
      expect(answer).toMatchObject({ t: "refused", code: "not_waiting" });
      await holder.ask({ t: "release", key, token }, "released");
    }
    const granted = await next.granted(other);
    expect(await next.status(key)).toMatchObject({ holders: [{ fence: granted.fence }], waiting: 0 });
  });

  test("a waiter may ask, ask in other words, and take it back; who does not wait is refused", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using waiter = await openSession(subject.socketUrl);
    const held = await holder.acquire(key);
    const queued = await waiter.queue(key);
    const ask = { t: "request_access", claim: queued.id };
    for (const fields of [{}, { message: "é".repeat(512) }, { withdraw: true }, { withdraw: true }]) {
      await waiter.ask({ ...ask, ...fields }, "access_requested");
    }
    for (const fields of [{ message: `${"é".repeat(512)}x` }, { message: "m", withdraw: true }, { claim: "" }]) {
      expect(await waiter.ask({ ...ask, ...fields }, "refused")).toMatchObject({ code: "bad_request" });
    }
    for (const claim of ["unknown", held.id]) {
      expect(await holder.ask({ ...ask, claim }, "refused")).toMatchObject({ code: "not_waiting" });
    }
    await holder.release(held);
    await waiter.granted(queued);
    expect(await waiter.ask(ask, "refused")).toMatchObject({ code: "not_waiting", retryable: false });
  });
}
