import { describe, expect, test } from "vitest";
import type { Asked } from "../../src/host/asked.ts";
import { settle } from "./support/time.ts";
import { KEYS, ORIGIN, World } from "./support/world.ts";

const id = (requestId: string): { headers: Record<string, string> } => ({ headers: { "idempotency-key": requestId } });

/** Whoever has the key from another session, with a way to let it go. */
function holdBySession(world: World, key = "k"): () => void {
  const session = world.session();
  const { token } = session.acquire(key);
  return () => session.ask({ t: "release", key, token });
}

describe("a call that waits", () => {
  test("is answered when the key is let go", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const { answer } = await world.waitingCall("k", { ttl: 1000 });
    expect((await world.status("k")).body.waiting).toBe(1);
    letGo();
    expect(await answer).toMatchObject({ status: 200, body: { status: "acquired", ttl: 1000, expires_in: 1000 } });
  });

  test("waits for 10 s where nothing else is asked, not less and not more", async () => {
    const world = new World();
    holdBySession(world);
    const { answer } = await world.waitingCall("k");
    world.advance(9999.9);
    expect((await world.status("k")).body.waiting).toBe(1);
    world.advance(0.1);
    expect(await answer).toMatchObject({ status: 408, body: { code: "timeout", holder: { mode: "exclusive" } } });
    expect((await world.status("k")).body.waiting).toBe(0);
  });

  test("whose wait is over as the lease ahead of it ends is granted", async () => {
    const world = new World();
    await world.acquire("k", { ttl: 1000 });
    const { answer } = await world.waitingCall("k", { timeout: 1000 });
    world.advance(1000);
    expect((await answer).status).toBe(200);
  });

  test("is answered unavailable when the store fails", async () => {
    const world = new World();
    holdBySession(world);
    const { answer } = await world.waitingCall("k");
    world.store.mode = "broken";
    expect((await world.acquire("other")).status).toBe(503);
    expect(await answer).toMatchObject({ status: 503, body: { code: "unavailable", retryable: true } });
  });
});

describe("a hand-off between calls", () => {
  test("answers whoever has the key now before whoever let it go", async () => {
    const world = new World();
    const { body } = await world.acquire("k");
    const { answer } = await world.waitingCall("k");
    const order: string[] = [];
    await Promise.all([
      world.release("k", { token: body.token }).then(() => order.push("released")),
      answer.then(() => order.push("granted")),
    ]);
    expect(order).toEqual(["granted", "released"]);
  });

  test("a release that makes nobody the holder is answered without a turn of the event loop", async () => {
    const world = new World();
    const { body } = await world.acquire("k");
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    const released = world.host.direct(asked("/v1/latch/k/release", { token: body.token }));
    expect((await released)?.status).toBe(200);
    expect(hasTurned).toBe(false);
  });
});

describe("where to ask for a signal is dear", () => {
  test("a call that is answered at once is not asked for its signal, one that waits is", async () => {
    const world = new World({}, () => {}, { hasDearSignals: true });
    let lookCount = 0;
    const { signal } = new AbortController();
    const call = (): Asked =>
      Object.defineProperty(asked("/v1/latch/k/acquire", {}), "signal", { get: () => (lookCount++, signal) });
    expect((await world.host.direct(call()))?.status).toBe(200);
    expect(lookCount).toBe(0);
    const waiting = world.host.direct(call());
    await settle();
    expect(lookCount).toBeGreaterThan(0);
    world.advance(10_000);
    expect((await waiting)?.status).toBe(408);
  });

  test("a caller that was gone before its place in the queue was known leaves it", async () => {
    const world = new World({}, () => {}, { hasDearSignals: true });
    holdBySession(world);
    const call = Object.defineProperty(asked("/v1/latch/k/acquire", {}), "signal", { value: AbortSignal.abort() });
    expect((await world.host.direct(call))?.status).not.toBe(200);
    expect((await world.status("k")).body.waiting).toBe(0);
  });
});

/** A call as a runtime may make it, without the web's Request. */
function asked(path: string, body: object): Asked {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return {
    method: "POST",
    url: ORIGIN + path,
    headers: new Headers({ host: "localhost", "content-length": String(bytes.length) }),
    body: null,
    signal: new AbortController().signal,
    arrayBuffer: () => Promise.resolve(bytes),
  };
}

describe("the same request id", () => {
  test("at once is one claim: one place, one grant, the same answer for all", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const calls = Array.from({ length: 5 }, () => world.acquire("k", { request_id: "r" }));
    await settle();
    expect((await world.status("k")).body.waiting).toBe(1);
    letGo();
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]!.status).toBe(200);
    expect((await world.status("k")).body.holders).toHaveLength(1);
  });

  test("again after the grant has that grant, and what is left of its lease", async () => {
    const world = new World();
    const first = await world.acquire("k", { ttl: 5000 }, id("r"));
    world.advance(2000);
    const again = await world.acquire("k", { ttl: 5000 }, id("r"));
    expect(again.body).toMatchObject({ token: first.body.token, fence: first.body.fence, expires_in: 3000 });
  });

  test("again after the end has that end, and takes nothing", async () => {
    const world = new World();
    const { body } = await world.acquire("k", {}, id("r"));
    await world.release("k", { token: body.token });
    expect(await world.acquire("k", {}, id("r"))).toMatchObject({ status: 410, body: { reason: "released" } });
    await world.acquire("l");
    expect((await world.acquire("l", { timeout: 0 }, id("t"))).status).toBe(408);
    expect((await world.acquire("l", { timeout: 0 }, id("t"))).status).toBe(408);
    expect((await world.status("k")).body.status).toBe("free");
  });

  test("does not start the wait again", async () => {
    const world = new World();
    holdBySession(world);
    const first = await world.waitingCall("k", { timeout: 1000 }, id("r"));
    world.advance(700);
    const second = await world.waitingCall("k", { timeout: 1000 }, id("r"));
    world.advance(300);
    expect([(await first.answer).status, (await second.answer).status]).toEqual([408, 408]);
  });

  test("may be quoted or bare in the header, or stand in the body", async () => {
    const world = new World();
    const answers = [
      await world.acquire("k", {}, id('"r\\"x"')),
      await world.acquire("k", {}, id('r"x')),
      await world.acquire("k", { request_id: 'r"x' }),
      await world.acquire("k", { request_id: 'r"x' }, id('"r\\"x"')),
    ];
    expect(new Set(answers.map(({ body }) => body.token)).size).toBe(1);
    expect(answers[0]!.body.token).toBeDefined();
  });

  test.each([
    ["in header and body, but different", 'r"x', { request_id: "other" }],
    ["with an open quote", '"r', {}],
    ["with something after the quote", '"r";a=1', {}],
    ["empty", '""', {}],
    ["of 256 characters", "i".repeat(256), {}],
  ])("%s is bad_request", async (_, header, body) => {
    const answer = await new World().acquire("k", body, id(header));
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
  });

  test("may have 255 characters in the header", async () => {
    expect((await new World().acquire("k", {}, id("i".repeat(255)))).status).toBe(200);
  });

  test("with other arguments is 422, also while the first still waits, and disturbs nobody", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const first = await world.waitingCall("k", { ttl: 1000 }, id("r"));
    for (const answer of [
      await world.acquire("k", { ttl: 2000 }, id("r")),
      await world.acquire("free", { ttl: 1000 }, id("r")),
      await world.acquire("k", { ttl: 1000, meta: 1 }, id("r")),
      await world.acquire("k", { ttl: 1000, timeout: 500 }, id("r")),
    ]) {
      expect(answer).toMatchObject({ status: 422, body: { code: "request_mismatch", retryable: false } });
    }
    letGo();
    expect((await first.answer).status).toBe(200);
  });

  test("belongs to a credential and to a space", async () => {
    const world = new World({ keys: KEYS });
    const call = (key: number, space: string): ReturnType<World["ask"]> =>
      world.ask(
        "POST",
        `/v1/latch/k/acquire?space=${space}`,
        { timeout: 0 },
        {
          headers: { authorization: `Bearer ${KEYS[key]!.secret}`, "idempotency-key": "r" },
        },
      );
    expect((await call(0, "a")).status).toBe(200);
    expect((await call(2, "a")).status).toBe(408);
    expect((await call(2, "b")).status).toBe(200);
    expect((await call(0, "a")).status).toBe(200);
  });

  test("each call says for itself what the end of the wait is answered with", async () => {
    const world = new World();
    holdBySession(world);
    const first = await world.waitingCall("k", { timeout: 100 }, id("r"));
    const second = await world.waitingCall("k", { timeout: 100, on_timeout: "ok" }, id("r"));
    world.advance(100);
    expect([(await first.answer).status, (await second.answer).status]).toEqual([408, 200]);
  });
});

describe("a caller that hangs up", () => {
  test("while it waits leaves the queue at once, and whoever is behind it is looked at again", async () => {
    const world = new World();
    const session = world.session();
    session.acquire("k", { mode: "shared" });
    const hangUp = new AbortController();
    const { answer } = await world.waitingCall("k", {}, { signal: hangUp.signal });
    session.acquire("k", { id: "behind", mode: "shared" });
    hangUp.abort();
    await answer;
    expect(session.frames("granted").at(-1)).toMatchObject({ id: "behind" });
    expect((await world.status("k")).body.waiting).toBe(0);
  });

  test("before its call is read takes no place", async () => {
    const world = new World();
    const hangUp = new AbortController();
    const answer = world.acquire("k", {}, { signal: hangUp.signal });
    hangUp.abort();
    await answer;
    expect((await world.status("k")).body.status).toBe("free");
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_spaces 0");
  });

  test("has no turn, however shortly before the grant: the next in line is granted", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const hangUp = new AbortController();
    const { answer } = await world.waitingCall("k", {}, { ...id("r"), signal: hangUp.signal });
    const next = world.session();
    next.acquire("k", { id: "next" });
    letGo();
    hangUp.abort();
    expect(next.frames("granted")).toEqual([]);
    await answer;
    expect(next.frames("granted")).toMatchObject([{ id: "next" }]);
  });

  test("takes no place of an equal call: the claim goes on until the last has hung up", async () => {
    const world = new World();
    holdBySession(world);
    const hangUps = [new AbortController(), new AbortController()];
    for (const { signal } of hangUps) await world.waitingCall("k", {}, { ...id("r"), signal });
    hangUps[0]!.abort();
    expect((await world.status("k")).body.waiting).toBe(1);
    hangUps[1]!.abort();
    expect((await world.status("k")).body.waiting).toBe(0);
  });

  test("is forgotten with its request id: a repeat is a fresh claim at the end of the queue", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const hangUp = new AbortController();
    await world.waitingCall("k", {}, { ...id("r"), signal: hangUp.signal });
    const behind = world.session();
    behind.acquire("k", { id: "b" });
    hangUp.abort();
    const again = await world.waitingCall("k", {}, id("r"));
    letGo();
    expect(behind.frames("granted")).toMatchObject([{ id: "b" }]);
    behind.say({ t: "bye" });
    expect((await again.answer).status).toBe(200);
  });

  test("after its answer changes nothing", async () => {
    const world = new World();
    const hangUp = new AbortController();
    await world.acquire("k", {}, { signal: hangUp.signal });
    hangUp.abort();
    expect((await world.status("k")).body.status).toBe("held");
  });
});

describe("a caller that hangs up while the store is at work", () => {
  async function finishAll(world: World): Promise<void> {
    for (let turn = 0; turn < 6; turn++) {
      if (world.store.held.length > 0) world.store.finish();
      await settle();
    }
    world.store.mode = "sync";
  }

  test("has its grant taken back: it could not be delivered", async () => {
    const world = new World();
    world.session();
    world.store.mode = "held";
    const hangUp = new AbortController();
    const { answer } = await world.waitingCall("k", { ttl: 60_000 }, { ...id("r"), signal: hangUp.signal });
    hangUp.abort();
    await answer;
    await finishAll(world);
    expect((await world.status("k")).body.status).toBe("free");
    expect((await world.acquire("k", { ttl: 60_000 }, id("r"))).status).toBe(200);
  });

  test("does not lose a lock that an earlier answer told of", async () => {
    const world = new World();
    const first = await world.acquire("k", { ttl: 60_000 }, id("r"));
    world.store.mode = "held";
    await world.waitingCall("busy");
    const hangUp = new AbortController();
    await world.waitingCall("k", { ttl: 60_000 }, { ...id("r"), signal: hangUp.signal });
    hangUp.abort();
    await finishAll(world);
    expect((await world.status("k")).body.holders).toMatchObject([{ fence: first.body.fence }]);
  });

  test("and comes back before that is done has the same claim", async () => {
    const world = new World();
    world.session();
    world.store.mode = "held";
    const hangUp = new AbortController();
    await world.waitingCall("k", { ttl: 60_000 }, { ...id("r"), signal: hangUp.signal });
    hangUp.abort();
    const again = await world.waitingCall("k", { ttl: 60_000 }, id("r"));
    await finishAll(world);
    expect((await again.answer).status).toBe(200);
    expect((await world.status("k")).body.holders).toHaveLength(1);
  });

  test("leaves the queue, and the answer of its repeat is its own and not that of the cancelled claim", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const hangUp = new AbortController();
    await world.waitingCall("k", {}, { ...id("r"), signal: hangUp.signal });
    world.store.mode = "held";
    await world.waitingCall("busy");
    hangUp.abort();
    const again = await world.waitingCall("k", {}, id("r"));
    letGo();
    await finishAll(world);
    expect(await again.answer).toMatchObject({ status: 200, body: { status: "acquired" } });
  });

  test("before its place in the queue is known leaves it as soon as it is", async () => {
    const world = new World();
    holdBySession(world);
    world.store.mode = "held";
    await world.waitingCall("busy");
    const hangUp = new AbortController();
    await world.waitingCall("k", {}, { signal: hangUp.signal });
    hangUp.abort();
    await finishAll(world);
    expect((await world.status("k")).body.waiting).toBe(0);
  });

  test("as its grant is committed gives it back, and a repeat is a claim of its own", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const hangUp = new AbortController();
    await world.waitingCall("k", { ttl: 5000 }, { ...id("r"), signal: hangUp.signal });
    world.store.mode = "held";
    letGo();
    hangUp.abort();
    const again = await world.waitingCall("k", { ttl: 5000 }, id("r"));
    await finishAll(world);
    const { status, body } = await again.answer;
    expect(status).toBe(200);
    expect((await world.status("k")).body.holders).toMatchObject([{ fence: body.fence }]);
  });

  test("whose wait timed out in the commit under way leaves its address free", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const hangUp = new AbortController();
    await world.waitingCall("k", { timeout: 1000 }, { ...id("r"), signal: hangUp.signal });
    world.store.mode = "held";
    world.time.skip(1000);
    await world.waitingCall("busy");
    hangUp.abort();
    await finishAll(world);
    letGo();
    const { text } = await world.ask("GET", "/metrics");
    expect(text).toContain("latchkey_http_calls 0");
    expect((await world.acquire("k", { timeout: 1000 }, id("fresh"))).status).toBe(200);
  });
});

describe("an answer that could not be sent", () => {
  const call = (world: World, body: object): Promise<Response> =>
    world.host.fetch(world.request("POST", "/v1/latch/k/acquire", body));

  test("gives the lock back, and forgets the request id", async () => {
    const world = new World();
    const waiting = world.session();
    const lost = await call(world, { request_id: "r" });
    waiting.acquire("k", { id: "next" });
    world.host.undelivered(lost);
    expect(waiting.frames("granted")).toMatchObject([{ id: "next" }]);
    waiting.say({ t: "bye" });
    expect((await world.acquire("k", { request_id: "r" })).status).toBe(200);
  });

  test("once reported, is not reported again", async () => {
    const world = new World();
    const lost = await call(world, { request_id: "r" });
    world.host.undelivered(lost);
    const { body } = await world.acquire("k", { request_id: "r" });
    world.host.undelivered(lost);
    expect((await world.status("k")).body.holders).toMatchObject([{ fence: body.fence }]);
  });

  test("of a request that was repeated since is of no matter: the repeat told of the lock", async () => {
    const world = new World();
    const lost = await call(world, { request_id: "r" });
    const again = await world.acquire("k", { request_id: "r" });
    world.host.undelivered(lost);
    expect((await world.status("k")).body.holders).toMatchObject([{ fence: again.body.fence }]);
  });

  test("gives the lock back also while its repeat is on the way, and the repeat has a lock of its own", async () => {
    const world = new World();
    const lost = await call(world, { request_id: "r", ttl: 5000 });
    world.store.mode = "held";
    world.host.undelivered(lost);
    const { answer } = await world.waitingCall("k", { request_id: "r", ttl: 5000 });
    for (let turn = 0; turn < 3; turn++) {
      if (world.store.held.length > 0) world.store.finish();
      await settle();
    }
    expect(await answer).toMatchObject({ status: 200, body: { status: "acquired", expires_in: 5000 } });
  });

  test("to one of two equal calls leaves the other its lock; to both gives it back", async () => {
    const world = new World();
    const letGo = holdBySession(world);
    const calls = [call(world, { request_id: "r" }), call(world, { request_id: "r" })];
    await settle();
    letGo();
    const [first, second] = await Promise.all(calls);
    world.host.undelivered(first!);
    expect((await world.status("k")).body.status).toBe("held");
    world.host.undelivered(second!);
    expect((await world.status("k")).body.status).toBe("free");
  });

  test("about anything but a fresh grant changes nothing", async () => {
    const world = new World();
    const { body } = await world.acquire("k");
    const reentered = await call(world, { token: body.token });
    const refused = await call(world, { timeout: 0 });
    for (const response of [reentered, refused, new Response()]) world.host.undelivered(response);
    expect((await world.status("k")).body.status).toBe("held");
  });
});
