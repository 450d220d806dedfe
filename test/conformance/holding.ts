import { expect, test } from "vitest";
import { Caller } from "./caller.ts";
import { openSession } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

export function holding(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);

  test("a grant to a session without a ttl lasts as long as the session", async () => {
    using session = await openSession(subject.socketUrl, { meta: { host: "a" } });
    const key = freshKey();
    const held = await session.acquire(key);
    expect(held).toMatchObject({ mode: "exclusive", reentrant: false, depth: 1 });
    expect("ttl" in held || "expires_in" in held).toBe(false);
    const { body } = await caller().status(key);
    expect(body).toEqual({
      key,
      status: "held",
      holders: [
        {
          session: expect.any(String),
          mode: "exclusive",
          fence: held.fence,
          since: expect.any(Number),
          meta: { host: "a" },
        },
      ],
      waiting: 0,
    });
    expect(Math.abs(body.holders[0].since - Date.now() / 1000)).toBeLessThan(5);
  });

  test("the times of a holding that a session leases are null over HTTP", async () => {
    using session = await openSession(subject.socketUrl);
    const key = freshKey();
    const { token } = await session.acquire(key);
    const { body } = await caller().acquire(key, { token });
    expect(body).toMatchObject({ reentrant: true, ttl: null, expires_in: null, expires_at: null });
  });

  test("fences rise with every grant of the space", async () => {
    using session = await openSession(subject.socketUrl);
    let last = 0;
    for (let round = 0; round < 5; round++) {
      const held = await session.acquire(freshKey());
      const { body } = await caller().acquire(freshKey());
      expect(held.fence).toBeGreaterThan(last);
      expect(body.fence).toBeGreaterThan(held.fence);
      last = body.fence;
    }
  });

  test("a second release of the same token succeeds and says so", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    expect(await session.release(held)).toMatchObject({ depth: 0 });
    expect(await session.release(held)).toMatchObject({ depth: 0, already: true });
    const again = await caller().release(key, { token: held.token });
    expect(again.body).toEqual({ status: "released", already: true });
  });

  test("a stale token never touches the next holder", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const first = await session.acquire(key);
    await session.release(first);
    const second = await session.acquire(key);
    await session.release(first);
    await session.ask({ t: "extend", key, token: first.token, ttl: 1000 }, "lost");
    await session.ask({ t: "acquire", key, token: first.token }, "lost");
    expect((await session.status(key)).holders).toMatchObject([{ fence: second.fence }]);
  });

  test("a token that nobody knows, and one of another key, is unknown_token and changes nothing", async () => {
    const [key, other] = [freshKey(), freshKey()];
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    await session.acquire(other);
    for (const [where, token] of [
      [other, held.token],
      [key, "no-such-token"],
      [freshKey(), held.token],
    ] as const) {
      const problem = { status: 404, body: { code: "unknown_token" } };
      expect(await caller().release(where, { token })).toMatchObject(problem);
      expect(await caller().extend(where, { token, ttl: 1000 })).toMatchObject(problem);
      const refused = await session.ask({ t: "release", key: where, token }, "refused");
      expect(refused.code).toBe("unknown_token");
      expect(await caller().acquire(where, { token })).toMatchObject({ status: 410, body: { reason: "unknown" } });
    }
    expect((await session.status(key)).status).toBe("held");
    expect((await session.status(other)).status).toBe("held");
  });

  test("release and extend without a token or ttl are bad_request", async () => {
    const key = freshKey();
    const { token } = (await caller().acquire(key)).body;
    for (const answer of [
      await caller().release(key, {}),
      await caller().extend(key, { token }),
      await caller().extend(key, { token, ttl: 0 }),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
    }
  });

  test("one release frees a key that was re-entered without nest", async () => {
    const key = freshKey();
    const { token } = (await caller().acquire(key)).body;
    await caller().acquire(key, { token });
    await caller().acquire(key, { token });
    expect((await caller().release(key, { token })).body).toEqual({ status: "released" });
  });

  test("with nest as many releases are needed as there were acquires", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const nested = await session.acquire(key, { token: held.token, nest: true });
    expect(nested).toMatchObject({ reentrant: true, depth: 2, token: held.token, fence: held.fence });
    const { body } = await caller().acquire(key, { token: held.token, nest: true });
    expect(body).toMatchObject({ reentrant: true, depth: 3 });
    expect((await caller().release(key, { token: held.token })).body).toEqual({ status: "held", depth: 2 });
    expect(await session.release(held)).toMatchObject({ depth: 1 });
    expect(await session.release(held)).toMatchObject({ depth: 0 });
    expect((await session.status(key)).status).toBe("free");
  });

  test("nesting ends at a depth of 64", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const { token } = await session.acquire(key);
    for (let depth = 2; depth <= 64; depth++) {
      expect((await session.acquire(key, { token, nest: true })).depth).toBe(depth);
    }
    const refused = await session.ask({ t: "acquire", key, token, nest: true }, "refused");
    expect(refused.code).toBe("depth_limit");
    const answer = await caller().acquire(key, { token, nest: true });
    expect(answer).toMatchObject({ status: 409, body: { code: "depth_limit" } });
    expect((await session.acquire(key, { token })).depth).toBe(64);
  });

  test("a holder that releases has its session told when somebody else showed the token", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    await caller().release(key, { token: held.token });
    expect(await session.next("lost", held.id)).toMatchObject({ key, reason: "released" });
  });

  test("a steal takes the key at once, tells the loser who and why, and leaves the queue as it is", async () => {
    const key = freshKey();
    using holder = await openSession(subject.socketUrl);
    using thief = await openSession(subject.socketUrl, { meta: { name: "thief" } });
    const held = await holder.acquire(key);
    const waiting = await holder.queue(key);
    const stolen = await thief.acquire(key, { steal: true, message: "maintenance" });
    expect(await holder.next("lost", held.id)).toMatchObject({
      key,
      reason: "stolen",
      by: { session: expect.any(String), meta: { name: "thief" }, message: "maintenance" },
    });
    expect(await holder.ask({ t: "release", key, token: held.token }, "lost")).toMatchObject({ reason: "stolen" });
    expect((await holder.status(key)).waiting).toBe(1);
    await thief.release(stolen);
    await holder.granted(waiting);
  });

  test("a steal over HTTP takes the key from all who share it", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const first = await session.acquire(key, { mode: "shared" });
    const second = await session.acquire(key, { mode: "shared" });
    expect((await caller().acquire(key, { steal: true, message: "mine" })).status).toBe(200);
    for (const held of [first, second]) {
      expect(await session.next("lost", held.id)).toMatchObject({ reason: "stolen", by: { message: "mine" } });
    }
  });

  test("revoking a key ends its holders, and the next in line has it", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    const waiting = await session.queue(key);
    const answer = await caller().revoke(key, { message: "stuck" });
    expect(answer).toMatchObject({ status: 200, body: { status: "revoked", count: 1 } });
    expect(await session.next("lost", held.id)).toMatchObject({ reason: "revoked", by: { message: "stuck" } });
    await session.granted(waiting);
    expect(await session.ask({ t: "revoke", key }, "revoked")).toMatchObject({ count: 1 });
    expect((await caller().revoke(key)).body).toEqual({ status: "revoked", count: 0 });
  });

  test("revoking a session ends it with all that it holds, kept locks too", async () => {
    const [key, kept] = [freshKey(), freshKey()];
    using session = await openSession(subject.socketUrl, { grace: 5000 });
    using next = await openSession(subject.socketUrl);
    await session.acquire(key);
    await session.acquire(kept, { keep: true, ttl: 60_000 });
    const waiting = await next.queue(key);
    const holder = (await next.status(key)).holders[0]!;
    const answer = await caller().request("DELETE", `/v1/session/${holder.session}`);
    expect(answer.body).toEqual({ status: "revoked", count: 2 });
    expect((await session.closed).code).toBe(4410);
    await next.granted(waiting);
    expect((await next.status(kept)).status).toBe("free");
    expect(await next.ask({ t: "revoke_session", session: "nobody" }, "revoked")).toMatchObject({ count: 0 });
  });

  test.each(["break", "bye"])("a kept lock outlives its session: %s", async (way) => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key, { keep: true, ttl: 60_000 });
    if (way === "bye") session.send({ t: "bye" });
    else session.terminate();
    await session.closed;
    const { body } = await caller().status(key);
    expect(body).toMatchObject({ status: "held", holders: [{ fence: held.fence }] });
    expect((await caller().release(key, { token: held.token })).body).toEqual({ status: "released" });
  });
}
