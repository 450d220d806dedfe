import { describe, expect, test } from "vitest";
import { WALL_AT_ZERO } from "./support/time.ts";
import { ORIGIN, World } from "./support/world.ts";

const any = expect.any(Number);
const text = expect.any(String);

describe("acquire", () => {
  test("answers with the lock and its lease", async () => {
    const world = new World();
    const { status, headers, body } = await world.acquire("k", { ttl: 10_000, timeout: 10_000 });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      status: "acquired",
      key: "k",
      token: text,
      fence: any,
      mode: "exclusive",
      reentrant: false,
      depth: 1,
      ttl: 10_000,
      expires_in: 10_000,
      expires_at: Math.floor((WALL_AT_ZERO + 1000.5 + 10_000) / 1000),
    });
  });

  test("takes the default lease where none is asked", async () => {
    expect((await new World().acquire("k")).body.ttl).toBe(30_000);
    expect((await new World({ ttlDefaultMs: 5000 }).acquire("k")).body.ttl).toBe(5000);
  });

  test("with the token is re-entry: at once, same token and fence, never a shorter lease", async () => {
    const world = new World();
    const { body: first } = await world.acquire("k", { ttl: 10_000 });
    await world.waitingCall("k");
    const { body: shorter } = await world.acquire("k", { ttl: 1000, token: first.token });
    expect(shorter).toMatchObject({ reentrant: true, token: first.token, fence: first.fence, ttl: 10_000, depth: 1 });
    const { body: longer } = await world.acquire("k", { ttl: 60_000, token: first.token, nest: true });
    expect(longer).toMatchObject({ reentrant: true, token: first.token, expires_in: 60_000, depth: 2 });
  });

  test("with the token of a session's lock has no lease to tell: the session is it", async () => {
    const world = new World();
    const { token } = world.session().acquire("k");
    const { body } = await world.acquire("k", { token });
    expect(body).toMatchObject({ status: "acquired", ttl: null, expires_in: null, expires_at: null });
  });

  test("with a token that no longer holds is 410, and no fresh claim", async () => {
    const world = new World();
    const { body } = await world.acquire("k", { ttl: 100 });
    world.advance(100);
    const again = await world.acquire("k", { token: body.token });
    expect(again).toMatchObject({ status: 410, body: { code: "lost", reason: "expired", key: "k" } });
    expect((await world.status("k")).body.status).toBe("free");
    expect(await world.acquire("k", { token: "x" })).toMatchObject({ status: 410, body: { reason: "unknown" } });
  });

  test("of a held key with timeout 0 is 408 at once, says who holds, and never a token", async () => {
    const world = new World();
    const { body: held } = await world.acquire("k", { meta: { job: "nightly" } });
    world.advance(2000);
    const { status, headers, text: told, body } = await world.acquire("k", { timeout: 0 });
    expect(status).toBe(408);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toEqual({
      type: "urn:latchkey:problem:timeout",
      title: text,
      status: 408,
      detail: text,
      code: "timeout",
      retryable: true,
      key: "k",
      holder: {
        mode: "exclusive",
        fence: held.fence,
        since: Math.floor((WALL_AT_ZERO + 1000.5) / 1000),
        expires_in: 28_000,
        meta: { job: "nightly" },
      },
    });
    expect(told).not.toContain(held.token);
  });

  test("with on_timeout ok is 200 in place of 408", async () => {
    const world = new World();
    await world.acquire("k");
    const { status, body } = await world.acquire("k", { timeout: 0, on_timeout: "ok" });
    expect([status, body]).toEqual([200, { status: "timeout" }]);
  });

  test("steals, and the loser is told why", async () => {
    const world = new World();
    const holder = world.session();
    holder.acquire("k", { id: "a" });
    expect((await world.acquire("k", { steal: true, message: "now" })).status).toBe(200);
    expect(holder.frames("lost")).toMatchObject([{ id: "a", reason: "stolen", by: { message: "now" } }]);
  });

  test.each([
    ["limit_mismatch", 409, { mode: "shared", limit: 3 }],
    ["request_mismatch", 422, { request_id: "a", ttl: 5000 }],
  ])("that contradicts what is there is %s", async (code, status, body) => {
    const world = new World();
    await world.acquire("k", { mode: "shared", limit: 2, request_id: "a" });
    expect(await world.acquire("k", body)).toMatchObject({ status, body: { code, key: "k" } });
  });

  test("nested past the limit is 409 depth_limit", async () => {
    const world = new World({ limits: { depthMax: 2 } });
    const { token } = (await world.acquire("k")).body;
    expect((await world.acquire("k", { token, nest: true })).body.depth).toBe(2);
    expect(await world.acquire("k", { token, nest: true })).toMatchObject({
      status: 409,
      body: { code: "depth_limit" },
    });
  });

  test("past a limit is 429 with its name and Retry-After", async () => {
    const world = new World({ limits: { callerClaimsMax: 1 } });
    await world.acquire("k");
    const answer = await world.acquire("l");
    expect(answer).toMatchObject({
      status: 429,
      body: { code: "limit", limit: "caller_claims", retryable: true, retry_after_ms: 1000 },
    });
    expect(answer.headers.get("retry-after")).toBe("1");
  });
});

describe("extend and release", () => {
  test("extend answers with the new lease", async () => {
    const world = new World();
    const { token, fence } = (await world.acquire("k", { ttl: 1000 })).body;
    const { status, body } = await world.extend("k", { token, ttl: 5000 });
    expect(status).toBe(200);
    expect(body).toEqual({
      status: "extended",
      key: "k",
      token,
      fence,
      ttl: 5000,
      expires_in: 5000,
      expires_at: Math.floor((WALL_AT_ZERO + 1000.5 + 5000) / 1000),
    });
  });

  test("release answers released, again with already, and held while nested", async () => {
    const world = new World();
    const { token } = (await world.acquire("k")).body;
    await world.acquire("k", { token, nest: true });
    expect((await world.release("k", { token })).body).toEqual({ status: "held", depth: 1 });
    expect((await world.release("k", { token })).body).toEqual({ status: "released" });
    expect((await world.release("k", { token })).body).toEqual({ status: "released", already: true });
  });

  test("a repeated nested release, under its id, counts once", async () => {
    const world = new World();
    const { token } = (await world.acquire("k")).body;
    await world.acquire("k", { token, nest: true });
    await world.acquire("k", { token, nest: true });
    const [first, again] = await Promise.all([
      world.release("k", { token, request_id: "r" }),
      world.release("k", { token, request_id: "r" }),
    ]);
    expect(first.body).toEqual({ status: "held", depth: 2 });
    expect(again.body).toEqual({ status: "held", depth: 2, already: true });
  });

  test("an acquire and a release may use the same request id", async () => {
    const world = new World();
    const { token } = (await world.acquire("k", { request_id: "a" })).body;
    expect((await world.release("k", { token, request_id: "a" })).body).toEqual({ status: "released" });
  });

  test("with a token of another key, or of none, are 404 and change nothing", async () => {
    const world = new World();
    const { token } = (await world.acquire("k")).body;
    await world.acquire("l");
    for (const answer of [
      await world.extend("l", { token, ttl: 1000 }),
      await world.release("l", { token }),
      await world.release("k", { token: "guess" }),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { code: "unknown_token", retryable: false } });
    }
    expect((await world.status("k")).body.status).toBe("held");
  });

  test("with a token that lost its lock are 410 with the reason, and the next holder keeps it", async () => {
    const world = new World();
    const { token } = (await world.acquire("k", { ttl: 100 })).body;
    world.advance(100);
    const { fence } = (await world.acquire("k")).body;
    expect(await world.release("k", { token })).toMatchObject({
      status: 410,
      body: { code: "lost", reason: "expired" },
    });
    expect(await world.extend("k", { token, ttl: 1000 })).toMatchObject({ status: 410, body: { reason: "expired" } });
    expect((await world.status("k")).body.holders).toMatchObject([{ fence }]);
  });
});

describe("status, list and revoke", () => {
  test("GET shows a key", async () => {
    const world = new World();
    await world.acquire("k", { mode: "shared", limit: 2, ttl: 5000 });
    expect((await world.status("k")).body).toEqual({
      key: "k",
      status: "held",
      holders: [{ mode: "shared", fence: any, since: any, expires_in: 5000 }],
      waiting: 0,
      limit: 2,
    });
    expect((await world.status("free")).body).toEqual({ key: "free", status: "free", holders: [], waiting: 0 });
  });

  test("GET of all keys gives pages", async () => {
    const world = new World();
    for (const key of ["p/a", "p/b", "p/c", "q"]) await world.acquire(key);
    const first = (await world.ask("GET", "/v1/latch?prefix=p%2F&count=2")).body;
    expect(first.keys.map(({ key }: { key: string }) => key)).toEqual(["p/a", "p/b"]);
    const second = (await world.ask("GET", `/v1/latch?prefix=p%2F&after=${encodeURIComponent(first.next)}`)).body;
    expect(second.keys.map(({ key }: { key: string }) => key)).toEqual(["p/c"]);
    expect(second).not.toHaveProperty("next");
  });

  test("GET of all keys tells who waits where it is asked to", async () => {
    const world = new World();
    await world.acquire("k");
    const { answer } = await world.waitingCall("k", { timeout: 60_000, mode: "shared" });
    expect((await world.ask("GET", "/v1/latch?queue=true")).body.keys).toMatchObject([{ queue: [{ mode: "shared" }] }]);
    expect((await world.ask("GET", "/v1/latch")).body.keys[0]).not.toHaveProperty("queue");
    world.advance(60_000);
    await answer;
  });

  test.each(["0", "1001", "-1", "x", "1.5", "", "99999", "1e2"])("a page of %j keys is bad_request", async (count) => {
    const answer = await new World().ask("GET", `/v1/latch?count=${count}`);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
  });

  test.each([
    ["prefix", 255, 200],
    ["prefix", 256, 400],
    ["after", 255, 200],
    ["after", 256, 400],
  ])("a %s of %d bytes is answered %d", async (name, bytes, status) => {
    expect((await new World().ask("GET", `/v1/latch?${name}=${"x".repeat(bytes)}`)).status).toBe(status);
  });

  test("DELETE of a key revokes its holders, of a session all its claims", async () => {
    const world = new World();
    const holder = world.session();
    holder.acquire("k", { id: "a" });
    holder.acquire("l", { id: "b" });
    expect((await world.ask("DELETE", "/v1/latch/k", { message: "why" })).body).toEqual({
      status: "revoked",
      count: 1,
    });
    expect(holder.frames("lost")).toMatchObject([{ id: "a", reason: "revoked", by: { message: "why" } }]);
    const { session } = holder.welcome;
    expect((await world.ask("DELETE", `/v1/session/${session}`)).body).toEqual({ status: "revoked", count: 1 });
    expect(holder.closedWith?.code).toBe(4410);
    expect((await world.ask("DELETE", "/v1/session/unknown")).body).toEqual({ status: "revoked", count: 0 });
    expect((await world.ask("DELETE", "/v1/session/%zz")).status).toBe(400);
  });

  test("a caller whose lock was revoked learns it when it shows the token", async () => {
    const world = new World();
    const { token } = (await world.acquire("k")).body;
    await world.ask("DELETE", "/v1/latch/k");
    expect(await world.release("k", { token })).toMatchObject({ status: 410, body: { reason: "revoked" } });
  });
});

describe("keys in the path", () => {
  const acquire = (world: World, segment: string): ReturnType<World["ask"]> =>
    world.ask("POST", `/v1/latch/${segment}/acquire`);

  test.each([
    ["a%2Fb", "a/b"],
    ["%252F", "%2F"],
    ["a+b", "a+b"],
    ["a%20b", "a b"],
    ["%E6%97%A5", "日"],
    ["%00", "\0"],
    ["%0A", "\n"],
    ["acquire", "acquire"],
    ["%3F%23", "?#"],
    ["a;b=c,d", "a;b=c,d"],
    ["__proto__", "__proto__"],
    ["%EF%BF%BD", "\ufffd"],
  ])("are percent-decoded once: %s", async (segment, key) => {
    const world = new World();
    const { status, body } = await acquire(world, segment);
    expect([status, body.key]).toEqual([200, key]);
    expect(world.session().status(key).status).toBe("held");
  });

  test.each([
    ["empty", ""],
    ["a lone percent sign", "%"],
    ["half a percent sequence", "a%2"],
    ["no hexadecimal", "%zz"],
    ["a byte that is no UTF-8", "%FF"],
    ["half a character", "%E6%97"],
    ["an encoded surrogate", "%ED%A0%80"],
    ["an overlong slash", "%C0%AF"],
    ["256 bytes", "k".repeat(256)],
    ["258 bytes in characters of three", "%E6%97%A5".repeat(86)],
  ])("that are none are bad_key on every route: %s", async (_, segment) => {
    const world = new World();
    for (const [method, path] of [
      ["POST", `/v1/latch/${segment}/acquire`],
      ["POST", `/v1/latch/${segment}/extend`],
      ["POST", `/v1/latch/${segment}/release`],
      ["GET", `/v1/latch/${segment}`],
      ["DELETE", `/v1/latch/${segment}`],
    ] as const) {
      expect(await world.ask(method, path)).toMatchObject({ status: 400, body: { code: "bad_key", retryable: false } });
    }
  });

  test("may have 255 bytes", async () => {
    expect((await acquire(new World(), "k".repeat(255))).status).toBe(200);
    expect((await acquire(new World(), "%E6%97%A5".repeat(85))).status).toBe(200);
  });
});

describe("bodies", () => {
  const acquire = (body: string, headers = {}): ReturnType<World["ask"]> => new World().acquire("k", body, { headers });

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8", ""])(
    "are JSON whatever the content type says: %s",
    async (type) => {
      const { body } = await acquire('{"ttl":5000}', type === "" ? {} : { "content-type": type });
      expect(body.ttl).toBe(5000);
    },
  );

  test("that are empty, or absent, are {}", async () => {
    expect((await acquire("")).status).toBe(200);
    expect((await acquire(" \n")).status).toBe(200);
    expect((await new World().ask("POST", "/v1/latch/k/acquire")).status).toBe(200);
  });

  test.each(["{", "nonsense", '{"ttl":1000', "\0", "{'ttl':5}", "ttl=5"])(
    "that are no JSON are bad_json: %j",
    async (body) => {
      expect(await acquire(body)).toMatchObject({ status: 400, body: { code: "bad_json" } });
    },
  );

  test("that are no UTF-8 are bad_json", async () => {
    const world = new World();
    const bytes = new Uint8Array([0x7b, 0x22, 0x6d, 0x65, 0x74, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]);
    const response = await world.host.fetch(
      new Request(`${ORIGIN}/v1/latch/k/acquire`, { method: "POST", body: bytes }),
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "bad_json" });
  });

  test.each(["[]", "7", "null", '"text"', "true"])("that are no object are bad_request: %s", async (body) => {
    expect(await acquire(body)).toMatchObject({ status: 400, body: { code: "bad_request" } });
  });

  test.each([64 * 1024, 64 * 1024 + 1])("may have 64 KiB and no more: %d bytes", async (bytes) => {
    const padded = `{"pad":"${"x".repeat(bytes - 10)}"}`;
    expect(padded).toHaveLength(bytes);
    const answer = await acquire(padded);
    if (bytes === 64 * 1024) expect(answer.status).toBe(200);
    else expect(answer).toMatchObject({ status: 413, body: { code: "too_large" } });
  });

  test("are cut off past the limit also where their length is not announced", async () => {
    const world = new World();
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls++;
        controller.enqueue(new Uint8Array(16 * 1024).fill(0x20));
      },
    });
    const options = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await world.host.fetch(new Request(`${ORIGIN}/v1/latch/k/acquire`, options));
    expect(response.status).toBe(413);
    expect(pulls).toBeLessThan(10);
  });

  test("nested however deep are refused", async () => {
    const deep = `{"meta":${"[".repeat(30_000)}${"]".repeat(30_000)}}`;
    expect((await acquire(deep)).status).toBe(400);
  });

  test.each([
    [{ ttl: 99 }, false],
    [{ ttl: 100 }, true],
    [{ ttl: 86_400_000 }, true],
    [{ ttl: 86_400_001 }, false],
    [{ ttl: 0 }, false],
    [{ ttl: -1 }, false],
    [{ ttl: 1.5 }, false],
    [{ ttl: "5" }, false],
    [{ ttl: 1e12 }, false],
    [{ ttl: null }, false],
    [{ timeout: 0 }, true],
    [{ timeout: 600_000 }, true],
    [{ timeout: 600_001 }, false],
    [{ timeout: -1 }, false],
    [{ timeout: null }, false],
    [{ mode: "both" }, false],
    [{ mode: null }, false],
    [{ limit: 2 }, false],
    [{ mode: "shared", limit: 1 }, true],
    [{ mode: "shared", limit: 0 }, false],
    [{ mode: "shared", limit: 100_001 }, false],
    [{ meta: "m".repeat(1022) }, true],
    [{ meta: "m".repeat(1023) }, false],
    [{ steal: true, message: "m".repeat(1024) }, true],
    [{ steal: true, message: "m".repeat(1025) }, false],
    [{ message: "m" }, false],
    [{ request_id: "i".repeat(255) }, true],
    [{ request_id: "i".repeat(256) }, false],
    [{ request_id: "" }, false],
    [{ on_timeout: "never" }, false],
    [{ colour: "green" }, true],
  ])("have fields with limits: %j", async (body, isAccepted) => {
    const world = new World();
    const answer = await world.acquire("k", body);
    if (isAccepted) expect(answer.status).toBe(200);
    else expect(answer).toMatchObject({ status: 400, body: { code: "bad_request", retryable: false } });
    expect((await world.status("k")).body.status).toBe(isAccepted ? "held" : "free");
  });

  test("of extend and release need their fields", async () => {
    const world = new World();
    expect(await world.extend("k", {})).toMatchObject({ status: 400, body: { detail: "token is missing" } });
    expect(await world.extend("k", { token: "x", ttl: 99 })).toMatchObject({ status: 400 });
    expect(await world.release("k", "")).toMatchObject({ status: 400 });
  });

  test("that break off are answered, and nothing happens", async () => {
    const world = new World();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.error(new Error("the connection broke"));
      },
    });
    const options = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await world.host.fetch(new Request(`${ORIGIN}/v1/latch/k/acquire`, options));
    expect(response.status).toBe(400);
    expect((await world.status("k")).body.status).toBe("free");
  });
});

describe("spaces over HTTP", () => {
  test("are named by the query and keep apart", async () => {
    const world = new World();
    expect((await world.ask("POST", "/v1/latch/k/acquire?space=a")).status).toBe(200);
    expect((await world.ask("POST", "/v1/latch/k/acquire?space=b")).status).toBe(200);
    expect((await world.status("k")).body.status).toBe("free");
    expect((await world.ask("GET", "/v1/latch/k?space=a")).body.status).toBe("held");
  });

  test.each(["", "a b", "a%2Fb", "s".repeat(65)])("with a wrong name are bad_space: %j", async (space) => {
    const answer = await new World().ask("GET", `/v1/latch/k?space=${space}`);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_space" } });
  });

  test("past their number are 429, and one that is idle makes room", async () => {
    const world = new World({ spacesMax: 1 });
    await world.ask("POST", "/v1/latch/k/acquire?space=a", { ttl: 1000 });
    const answer = await world.ask("GET", "/v1/latch/k?space=b");
    expect(answer).toMatchObject({ status: 429, body: { code: "limit", limit: "spaces" } });
    world.advance(1000 + 61_000);
    expect((await world.ask("GET", "/v1/latch/k?space=b")).status).toBe(200);
  });
});

describe("routes", () => {
  test.each([
    ["GET", "/v2/latch/a"],
    ["GET", "/"],
    ["POST", "/v1/latch/a/b/acquire"],
    ["POST", "/v1/latch/a/steal"],
    ["DELETE", "/v1/session/a/b"],
    ["GET", "/v1/latchkey"],
    ["GET", "/healthz/"],
  ])("that do not exist are 404: %s %s", async (method, path) => {
    const answer = await new World().ask(method, path);
    expect(answer).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  });

  test.each([
    ["GET", "/v1/latch/a/acquire", "POST"],
    ["PUT", "/v1/latch/a/release", "POST"],
    ["POST", "/v1/latch/a", "GET, DELETE"],
    ["DELETE", "/v1/latch", "GET"],
    ["POST", "/v1/session", "GET"],
    ["GET", "/v1/session/s", "DELETE"],
    ["POST", "/healthz", "GET"],
    ["PATCH", "/metrics", "GET"],
  ])("with another method are 405 and say which: %s %s", async (method, path, allow) => {
    const answer = await new World().ask(method, path);
    expect(answer).toMatchObject({ status: 405, body: { code: "method_not_allowed" } });
    expect(answer.headers.get("allow")).toBe(allow);
  });

  test("the session's path without an upgrade is 426", async () => {
    const answer = await new World().ask("GET", "/v1/session");
    expect(answer).toMatchObject({ status: 426, body: { code: "upgrade_required" } });
    expect(answer.headers.get("upgrade")).toBe("websocket");
  });

  test("HEAD is GET without the body", async () => {
    const answer = await new World().ask("HEAD", "/v1/latch/k");
    expect([answer.status, answer.text]).toEqual([200, ""]);
  });

  test("what breaks inside is 500 without a word of it, and is told to the host's owner", async () => {
    const world = new World();
    await world.acquire("k");
    world.time.wall = () => {
      throw new Error("secret detail");
    };
    const answer = await world.status("k");
    expect(answer).toMatchObject({ status: 500, body: { code: "internal", retryable: true } });
    expect(answer.text).not.toContain("secret detail");
    expect(world.errors).toMatchObject([{ where: "http" }]);
  });
});
