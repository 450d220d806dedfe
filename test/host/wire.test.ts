import { describe, expect, test } from "vitest";
import { WALL_AT_ZERO } from "./support/time.ts";
import { type FakeSocket, World } from "./support/world.ts";

const any = expect.any(Number);
const text = expect.any(String);

describe("what a session is told", () => {
  test("a grant without a ttl names none: the session is the lease", () => {
    expect(new World().session().acquire("k", { id: "a" })).toEqual({
      t: "granted",
      id: "a",
      key: "k",
      token: text,
      fence: any,
      mode: "exclusive",
      reentrant: false,
      depth: 1,
    });
  });

  test("a grant with a ttl says what is left, rounded down", () => {
    const world = new World();
    const [holder, waiter] = [world.session(), world.session()];
    const { token } = holder.acquire("k");
    waiter.acquire("k", { id: "a", ttl: 1000 });
    world.advance(1.7);
    holder.ask({ t: "release", key: "k", token });
    expect(waiter.frames("granted")).toMatchObject([{ ttl: 1000, expires_in: 1000 }]);
    world.advance(0.3);
    expect(waiter.ask({ t: "acquire", id: "a", key: "k", ttl: 1000 })).toMatchObject({ ttl: 1000, expires_in: 999 });
  });

  test("a queued claim has a ticket and a position, and its wait ends by a timeout", () => {
    const world = new World();
    const socket = world.session();
    socket.acquire("k");
    expect(socket.acquire("k", { id: "a", timeout: 500 })).toEqual({ t: "queued", id: "a", ticket: any, position: 1 });
    expect(socket.acquire("k", { id: "b" })).toMatchObject({ position: 2 });
    socket.news();
    world.advance(499.9);
    expect(socket.news()).toEqual([]);
    world.advance(0.1);
    expect(socket.news()).toEqual([{ t: "timeout", id: "a" }]);
  });

  test("a try of a held key is a timeout at once", () => {
    const socket = new World().session();
    socket.acquire("k");
    expect(socket.acquire("k", { timeout: 0 })).toEqual({ t: "timeout", id: "r2" });
  });

  test("its own release is answered once, and nothing is pushed for it", () => {
    const socket = new World().session();
    const { token } = socket.acquire("k", { id: "a" });
    socket.news();
    socket.say({ t: "release", id: "r", key: "k", token });
    socket.say({ t: "release", id: "r2", key: "k", token });
    expect(socket.news()).toEqual([
      { t: "released", id: "r", depth: 0 },
      { t: "released", id: "r2", depth: 0, already: true },
    ]);
  });

  test("a repeated acquire whose lock it released itself is told that it is gone", () => {
    const socket = new World().session();
    const { token } = socket.acquire("k", { id: "a" });
    socket.ask({ t: "release", key: "k", token });
    expect(socket.acquire("k", { id: "a" })).toEqual({ t: "lost", id: "a", key: "k", reason: "released" });
  });

  test("a release by somebody who showed its token is told as lost, with who it was", () => {
    const world = new World();
    const [holder, other] = [world.session(), world.session({ meta: { name: "bob" } })];
    const { token } = holder.acquire("k", { id: "a" });
    holder.news();
    other.ask({ t: "release", key: "k", token });
    const by = { session: other.welcome.session, meta: { name: "bob" } };
    expect(holder.news()).toEqual([{ t: "lost", id: "a", key: "k", reason: "released", by }]);
  });

  test("a cancel ends a waiting and a holding claim alike, and one that is over not again", () => {
    const socket = new World().session();
    socket.acquire("k", { id: "a" });
    socket.acquire("k", { id: "b" });
    socket.news();
    for (const id of ["b", "a", "a", "unknown"]) socket.say({ t: "cancel", id });
    expect(socket.news()).toEqual([
      { t: "cancelled", id: "b" },
      { t: "cancelled", id: "a" },
    ]);
  });

  test("an expired lease is pushed as lost at its deadline, and the next is granted there", () => {
    const world = new World();
    const socket = world.session();
    socket.acquire("k", { id: "a", ttl: 1000 });
    socket.acquire("k", { id: "b" });
    socket.news();
    world.advance(999.9);
    expect(socket.news()).toEqual([]);
    world.advance(0.1);
    expect(socket.news()).toMatchObject([
      { t: "lost", id: "a", key: "k", reason: "expired" },
      { t: "granted", id: "b" },
    ]);
  });

  test("a steal tells the loser who and why", () => {
    const world = new World();
    const [holder, thief] = [world.session(), world.session()];
    holder.acquire("k", { id: "a" });
    holder.acquire("k", { id: "waits" });
    holder.news();
    thief.acquire("k", { steal: true, meta: ["urgent"], message: "sorry" });
    const by = { session: thief.welcome.session, meta: ["urgent"], message: "sorry" };
    expect(holder.news()).toEqual([{ t: "lost", id: "a", key: "k", reason: "stolen", by }]);
  });

  test("a token that does not hold is answered by lost, or refused as unknown", () => {
    const world = new World();
    const socket = world.session();
    const { token } = socket.acquire("k", { id: "a", ttl: 100 });
    world.advance(100);
    expect(socket.ask({ t: "extend", key: "k", token, ttl: 1000 })).toMatchObject({
      t: "lost",
      key: "k",
      reason: "expired",
    });
    expect(socket.ask({ t: "release", key: "k", token })).toMatchObject({ t: "lost", reason: "expired" });
    expect(socket.acquire("k", { token })).toMatchObject({ t: "lost", reason: "expired" });
    expect(socket.acquire("k", { token: "unknown" })).toMatchObject({ t: "lost", reason: "unknown" });
    expect(socket.ask({ t: "release", key: "k", token: "unknown" })).toMatchObject({
      t: "refused",
      code: "unknown_token",
      retryable: false,
    });
  });

  test("extend sets the lease anew", () => {
    const world = new World();
    const socket = world.session();
    const { token, fence } = socket.acquire("k", { ttl: 1000 });
    world.advance(600);
    expect(socket.ask({ t: "extend", id: "e", key: "k", token, ttl: 2000 })).toEqual({
      t: "extended",
      id: "e",
      key: "k",
      fence,
      ttl: 2000,
      expires_in: 2000,
    });
    world.advance(1999);
    expect(socket.status("k").status).toBe("held");
    world.advance(1);
    expect(socket.status("k").status).toBe("free");
  });

  test("re-entry shows the same token and fence, and nested releases count down", () => {
    const socket = new World().session();
    const { token, fence } = socket.acquire("k");
    expect(socket.acquire("k", { token, nest: true })).toMatchObject({ token, fence, reentrant: true, depth: 2 });
    expect(socket.ask({ t: "release", id: "x", key: "k", token })).toEqual({ t: "released", id: "x", depth: 1 });
    expect(socket.ask({ t: "release", id: "x", key: "k", token })).toEqual({
      t: "released",
      id: "x",
      depth: 1,
      already: true,
    });
    expect(socket.ask({ t: "release", id: "y", key: "k", token })).toEqual({ t: "released", id: "y", depth: 0 });
  });

  test("refusals by a limit name it and say when to come again", () => {
    const world = new World({ limits: { claimsPerSessionMax: 1 } });
    const socket = world.session();
    socket.acquire("k");
    expect(socket.acquire("l")).toEqual({
      t: "refused",
      id: "r2",
      code: "limit",
      detail: text,
      retryable: true,
      limit: "claims_per_session",
      retry_after_ms: 1000,
    });
  });

  test("the same id with other arguments is a mismatch", () => {
    const socket = new World().session();
    socket.acquire("k", { id: "a" });
    expect(socket.acquire("k", { id: "a", ttl: 500 })).toMatchObject({ t: "refused", code: "request_mismatch" });
  });

  test("semaphores tell their limit, and another limit is a mismatch", () => {
    const socket = new World().session();
    socket.acquire("k", { mode: "shared", limit: 2 });
    expect(socket.acquire("k", { mode: "shared", limit: 3 })).toMatchObject({
      code: "limit_mismatch",
      retryable: true,
    });
    expect(socket.status("k")).toMatchObject({ limit: 2 });
  });
});

describe("status and list", () => {
  test("show who holds, since when and for how long, and never a token", () => {
    const world = new World();
    const holder = world.session({ meta: { name: "ada" } });
    const { token, fence } = holder.acquire("k", { mode: "shared", ttl: 5000 });
    holder.acquire("k", { mode: "shared", meta: { job: 1 } });
    holder.acquire("k");
    world.advance(1234.6);
    const { session } = holder.welcome;
    const since = Math.floor((WALL_AT_ZERO + 1000.5) / 1000);
    const status = world.session().status("k");
    expect(status).toEqual({
      t: "status",
      id: "r1",
      key: "k",
      status: "held",
      holders: [
        { session, mode: "shared", fence, since, expires_in: 3765, meta: { name: "ada" } },
        { session, mode: "shared", fence: any, since, meta: { job: 1 } },
      ],
      waiting: 1,
    });
    expect(JSON.stringify(status)).not.toContain(token);
  });

  test("a free key has neither holders nor waiters", () => {
    expect(new World().session().ask({ t: "status", id: "s", key: "k" })).toEqual({
      t: "status",
      id: "s",
      key: "k",
      status: "free",
      holders: [],
      waiting: 0,
    });
  });

  test("lists go in code unit order, page by page", () => {
    const socket = new World().session();
    const keys = ["p/b", "p/a", "p/\ud83d\ude00", "p/\uffee", "q"];
    for (const key of keys) socket.acquire(key);
    const names = (frame: { keys: { key: string }[] }): string[] => frame.keys.map(({ key }) => key);
    const first = socket.ask({ t: "list", prefix: "p/", count: 2 });
    expect(names(first)).toEqual(["p/a", "p/b"]);
    expect(first.next).toBe("p/b");
    const second = socket.ask({ t: "list", prefix: "p/", after: first.next, count: 2 });
    expect(names(second)).toEqual(["p/\ud83d\ude00", "p/\uffee"]);
    expect(second).not.toHaveProperty("next");
  });

  test("a list tells who waits, in order, where it is asked to", () => {
    const world = new World();
    const holder = world.session();
    holder.acquire("k", { mode: "shared" });
    const first = world.session();
    first.acquire("k");
    holder.acquire("k", { mode: "shared" });
    const ids = [first, holder].map(({ welcome }) => welcome.session);
    expect(holder.ask({ t: "list", queue: true }).keys).toMatchObject([
      {
        key: "k",
        queue: [
          { session: ids[0], mode: "exclusive" },
          { session: ids[1], mode: "shared" },
        ],
      },
    ]);
    expect(holder.ask({ t: "list" }).keys[0]).not.toHaveProperty("queue");
    expect(holder.ask({ t: "list", queue: "yes" })).toMatchObject({ t: "refused", code: "bad_request" });
  });

  test("spaces never see each other", () => {
    const world = new World();
    world.session({ space: "a" }).acquire("k");
    const other = world.session({ space: "b" });
    expect(other.status("k").status).toBe("free");
    expect(other.ask({ t: "list" }).keys).toEqual([]);
    expect(other.acquire("k").t).toBe("granted");
  });
});

describe("a prefix for keys", () => {
  function prefixed(): { world: World; socket: FakeSocket } {
    const world = new World({ prefix: "app:" });
    return { world, socket: world.session({ grace: 1000 }) };
  }

  test("is before each key inside and before none outside", async () => {
    const { world, socket } = prefixed();
    const { token, key } = socket.acquire("k", { id: "a", ttl: 5000, keep: true });
    expect(key).toBe("k");
    expect(socket.ask({ t: "extend", key: "k", token, ttl: 100 }).key).toBe("k");
    expect(socket.status("k").key).toBe("k");
    expect(socket.ask({ t: "list" })).toMatchObject({ keys: [{ key: "k" }] });
    expect(socket.acquire("k", { token: "x" }).key).toBe("k");
    expect(world.session({ resume: socket.resume }).welcome.claims).toMatchObject([{ key: "k" }]);
    expect((await world.status("k")).body.key).toBe("k");

    const plain = world.session({}, { host: world.restarted() });
    expect(plain.status("app:k")).toMatchObject({ key: "app:k", status: "held" });
  });

  test("is not taken off a key that was stored under another", () => {
    const world = new World();
    const socket = world.session({ grace: 1000 });
    socket.acquire("key");
    const host = world.restarted({ prefix: "app:" });
    expect(world.session({ resume: socket.resume }, { host }).welcome.claims).toMatchObject([{ key: "key" }]);
  });

  test("stays out of pages as well", () => {
    const { socket } = prefixed();
    for (const key of ["a", "b", "c"]) socket.acquire(key);
    const page = socket.ask({ t: "list", count: 1, after: "a" });
    expect(page).toMatchObject({ keys: [{ key: "b" }], next: "b" });
  });

  test("does not shorten what a key may be", () => {
    const { socket } = prefixed();
    expect(socket.acquire("k".repeat(255)).t).toBe("granted");
  });
});

describe("asking and handing over", () => {
  function queued(): { world: World; holder: FakeSocket; first: FakeSocket; second: FakeSocket; token: string } {
    const world = new World();
    const [holder, first, second] = [world.session(), world.session(), world.session()];
    const { token } = holder.acquire("k", { id: "held" });
    first.acquire("k", { id: "a" });
    second.acquire("k", { id: "b" });
    for (const socket of [holder, first, second]) socket.news();
    return { world, holder, first, second, token };
  }

  test("the one who is named is granted in the same step, and the holder is told that it has let go", () => {
    const { holder, first, second, token } = queued();
    const { session } = second.welcome;
    const told: string[] = [];
    for (const socket of [holder, second]) socket.onSent = (sent) => told.push(JSON.parse(sent).t);
    holder.say({ t: "hand_to", id: "h", key: "k", token, session });
    expect(told).toEqual(["granted", "released"]);
    expect(holder.news()).toEqual([{ t: "released", id: "h", depth: 0 }]);
    expect(second.news()).toMatchObject([{ t: "granted", id: "b", key: "k" }]);
    expect(first.news()).toEqual([]);
    holder.say({ t: "hand_to", id: "h", key: "k", token, session });
    expect(holder.news()).toEqual([{ t: "released", id: "h", depth: 0, already: true }]);
  });

  test("an ask is answered, shown in no status, and refused once the claim waits no more", () => {
    const { holder, first, token } = queued();
    expect(first.ask({ t: "request_access", id: "x", claim: "a", message: "please" })).toEqual({
      t: "access_requested",
      id: "x",
    });
    expect(JSON.stringify(holder.status("k"))).not.toContain("please");
    holder.ask({ t: "release", key: "k", token });
    expect(first.ask({ t: "request_access", claim: "a" })).toMatchObject({ code: "not_waiting", retryable: false });
  });

  test("over HTTP a release may name the successor, under a request id as any release", async () => {
    const { world, first, second } = queued();
    const { body } = await world.acquire("l");
    second.acquire("l", { id: "c" });
    const ask = (to: string): ReturnType<World["release"]> =>
      world.release("l", { token: body.token, hand_to: to, request_id: "r" });
    expect(await ask(first.welcome.session)).toMatchObject({ status: 409, body: { code: "not_waiting", key: "l" } });
    expect(await ask(second.welcome.session)).toMatchObject({ status: 200, body: { status: "released" } });
    expect(second.frames("granted").at(-1)).toMatchObject({ id: "c", key: "l" });
    expect((await ask(second.welcome.session)).body).toEqual({ status: "released", already: true });
  });

  test.each([
    [256, 404],
    [257, 400],
  ])("over HTTP a session id may have 256 characters: %d", async (length, status) => {
    const world = new World();
    expect(await world.release("k", { token: "t", hand_to: "s".repeat(length) })).toMatchObject({ status });
  });
});
