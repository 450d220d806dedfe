import { expect, test } from "vitest";
import { Calm, goesOn } from "./calm.ts";
import { Caller } from "./caller.ts";
import { openSession, openSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

export function sessions(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);

  test("welcome says what the session is and what the server expects of it", async () => {
    using socket = await openSocket(subject.socketUrl);
    const welcome = await socket.hello();
    expect(welcome).toEqual({
      t: "welcome",
      v: 1,
      session: expect.any(String),
      secret: expect.any(String),
      space: "default",
      epoch: expect.any(Number),
      durable: expect.any(Boolean),
      ping: subject.runtime.pingMs,
      deadline: subject.runtime.deadlineMs,
      grace: 0,
      resumed: false,
    });
    expect(welcome.secret).not.toContain(welcome.session);
    expect(welcome.secret.length).toBeGreaterThanOrEqual(22);
  });

  test("the subprotocol is echoed when it was offered, and none when none was", async () => {
    using offered = await openSocket(subject.socketUrl, { protocols: ["latchkey.v1"] });
    expect(offered.protocol).toBe("latchkey.v1");
    using silent = await openSocket(subject.socketUrl, { protocols: [] });
    expect(silent.protocol).toBe("");
    await silent.hello();
  });

  test("a grace is granted up to the server's own maximum", async () => {
    using socket = await openSocket(subject.socketUrl);
    expect((await socket.hello({ grace: 86_400_000 })).grace).toBe(60_000);
    using modest = await openSocket(subject.socketUrl);
    expect((await modest.hello({ grace: 1500 })).grace).toBe(1500);
  });

  test("a drop ends a session's waits before its holdings, and grants those in line", async () => {
    const [key, other] = [freshKey(), freshKey()];
    using leaving = await openSession(subject.socketUrl);
    using staying = await openSession(subject.socketUrl);
    const held = await staying.acquire(other);
    await leaving.acquire(key);
    await leaving.queue(key);
    await leaving.queue(other);
    const first = await staying.queue(key);
    const second = await staying.queue(other, { mode: "shared" });
    leaving.terminate();
    await staying.granted(first);
    expect(await staying.status(key)).toMatchObject({ waiting: 0, holders: [{}] });
    await staying.release(held);
    await staying.granted(second);
  });

  test("a session that dropped while it waited never has a turn", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using leaving = await openSession(subject.socketUrl);
    const held = await holder.acquire(key);
    await leaving.queue(key);
    leaving.terminate();
    await caller().waiting(key, 0);
    await holder.release(held);
    expect(await holder.status(key)).toMatchObject({ status: "free", holders: [] });
  });

  test("a session that breaks right after it has asked leaves nothing behind", async () => {
    const key = freshKey();
    using watching = await openSession(subject.socketUrl);
    for (let round = 0; round < 20; round++) {
      const leaving = await openSocket(subject.socketUrl);
      leaving.send({ t: "hello", v: 1 });
      for (let id = 0; id < round; id++) leaving.send({ t: "acquire", id: `${id}`, key });
      leaving.terminate();
    }
    watching.send({ t: "acquire", id: "last", key });
    await watching.release(await watching.next("granted", "last"));
    expect(await watching.status(key)).toMatchObject({ status: "free", waiting: 0 });
  });

  test("whoever sends frames behind its hello need not wait for the welcome", async () => {
    const key = freshKey();
    using socket = await openSocket(subject.socketUrl);
    socket.send({ t: "hello", v: 1 });
    socket.send({ t: "acquire", id: "a", key });
    socket.send({ t: "acquire", id: "b", key });
    expect((await socket.next("granted")).id).toBe("a");
    expect((await socket.next("queued")).id).toBe("b");
  });

  test("bye ends a session at once, also one with a grace, and closes 1000", async () => {
    const [key, other] = [freshKey(), freshKey()];
    using leaving = await openSession(subject.socketUrl, { grace: 60_000 });
    using staying = await openSession(subject.socketUrl);
    await staying.acquire(other);
    await leaving.acquire(key);
    await leaving.queue(other);
    const waiting = await staying.queue(key);
    leaving.send({ t: "bye" });
    await staying.granted(waiting);
    expect((await staying.status(other)).waiting).toBe(0);
    expect((await leaving.closed).code).toBe(1000);
  });

  test("with a grace places and holdings stay over a drop, and resume tells all of them", calm.options, async () => {
    const [held, waited, expired] = [freshKey(), freshKey(), freshKey()];
    using first = await openSocket(subject.socketUrl);
    const welcome = await first.hello({ grace: 30_000 });
    using other = await openSession(subject.socketUrl);
    const otherHolds = await other.acquire(waited);
    const holding = await first.acquire(held, { id: "holds" });
    await first.queue(waited, { id: "waits" });
    await first.acquire(expired, { id: "expires", ttl: 150 });
    const behind = await other.queue(waited);
    const afterExpiry = await other.queue(expired);
    await first.break();

    await other.granted(afterExpiry);
    expect((await other.status(held)).status).toBe("held");
    await other.release(otherHolds);
    expect((await other.status(waited)).waiting).toBe(1);

    using second = await openSocket(subject.socketUrl);
    const resume = { session: welcome.session, secret: welcome.secret };
    const again = await second.hello({ grace: 30_000, resume });
    expect(again).toMatchObject({ session: welcome.session, resumed: true, epoch: welcome.epoch });
    const claims = new Map(again.claims?.map((claim) => [claim.id, claim]));
    expect(claims.get("holds")).toMatchObject({
      key: held,
      state: "holding",
      token: holding.token,
      fence: holding.fence,
      mode: "exclusive",
    });
    expect(claims.get("expires")).toMatchObject({ key: expired, state: "gone", outcome: "expired" });
    const waits = claims.get("waits")!;
    expect(waits).toMatchObject({ key: waited, state: "holding", token: expect.any(String) });
    await second.ask({ t: "release", key: waited, token: waits.token }, "released");
    await other.granted(behind);
  });

  test("a grace that ends without a resume ends the session", calm.options, async () => {
    const key = freshKey();
    using leaving = await openSocket(subject.socketUrl);
    const welcome = await leaving.hello({ grace: 200 });
    using staying = await openSession(subject.socketUrl);
    await leaving.acquire(key);
    const waiting = await staying.queue(key);
    const startedAt = performance.now();
    leaving.terminate();
    await staying.granted(waiting);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(190);
    expect(tookMs).toBeLessThan(800);

    using late = await openSocket(subject.socketUrl);
    late.send({ t: "hello", v: 1, resume: { session: welcome.session, secret: welcome.secret } });
    expect((await late.next("error")).code).toBe("session_ended");
    expect((await late.closed).code).toBe(4410);
  });

  test("a new connection takes over from one that is open: 4409, and its late end changes nothing", async () => {
    const key = freshKey();
    using older = await openSocket(subject.socketUrl);
    const { session, secret } = await older.hello();
    using other = await openSession(subject.socketUrl);
    const held = await older.acquire(key);
    await other.queue(key);

    using newer = await openSocket(subject.socketUrl);
    const welcome = await newer.hello({ resume: { session, secret } });
    expect(welcome).toMatchObject({ session, resumed: true, claims: [{ key, state: "holding", token: held.token }] });
    expect((await older.closed).code).toBe(4409);
    expect(await other.status(key)).toMatchObject({ waiting: 1, holders: [{ fence: held.fence }] });
    expect(await other.unread()).toEqual([]);
    expect(await newer.release(held)).toMatchObject({ depth: 0 });
  });

  test("of two connections that resume one session together one stays", async () => {
    const key = freshKey();
    using first = await openSocket(subject.socketUrl);
    const { session, secret } = await first.hello({ grace: 30_000 });
    const held = await first.acquire(key);
    await first.break();
    using one = await openSocket(subject.socketUrl);
    using two = await openSocket(subject.socketUrl);
    const hello = { t: "hello", v: 1, grace: 30_000, resume: { session, secret } };
    one.send(hello);
    two.send(hello);
    const [loser, winner] = await Promise.race([one.closed.then(() => [one, two]), two.closed.then(() => [two, one])]);
    expect((await loser!.closed).code).toBe(4409);
    await winner!.next("welcome");
    expect(await winner!.release(held)).toMatchObject({ depth: 0 });
    winner!.send({ t: "bye" });
    expect((await winner!.closed).code).toBe(1000);
  });

  test("a resume with a wrong secret is answered 4410, and the session does not notice", async () => {
    const key = freshKey();
    using session = await openSocket(subject.socketUrl);
    const welcome = await session.hello();
    await session.acquire(key);
    for (const secret of [welcome.session, "guess"]) {
      using thief = await openSocket(subject.socketUrl);
      thief.send({ t: "hello", v: 1, resume: { session: welcome.session, secret } });
      expect((await thief.next("error")).code).toBe("session_ended");
      expect((await thief.closed).code).toBe(4410);
    }
    expect((await session.status(key)).status).toBe("held");
  });

  test("the public id of a session is shown, its secret never", async () => {
    const key = freshKey();
    using session = await openSocket(subject.socketUrl);
    const welcome = await session.hello();
    await session.acquire(key);
    const { body } = await caller().status(key);
    expect(body.holders[0].session).toBe(welcome.session);
    expect(JSON.stringify(body)).not.toContain(welcome.secret);
  });

  test("a resumed session keeps its request ids", async () => {
    const key = freshKey();
    using older = await openSocket(subject.socketUrl);
    const { session, secret } = await older.hello({ grace: 30_000 });
    const held = await older.acquire(key, { id: "a" });
    await older.break();
    using newer = await openSession(subject.socketUrl, { grace: 30_000, resume: { session, secret } });
    expect(await newer.acquire(key, { id: "a" })).toMatchObject({ token: held.token, fence: held.fence });
    newer.send({ t: "bye" });
    expect((await newer.closed).code).toBe(1000);
  });
}
