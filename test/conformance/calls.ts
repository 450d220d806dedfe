import { expect, test } from "vitest";
import { Calm, goesOn } from "./calm.ts";
import { Caller } from "./caller.ts";
import { openSession } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

/** The bodies of the API as it is published: these calls must work exactly so. */
const PUBLISHED = { ttl: 10_000, timeout: 10_000 };

export function calls(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);

  test("acquire, extend and release work as they are published", calm.options, async () => {
    const key = freshKey();
    const before = Math.floor((Date.now() + PUBLISHED.ttl) / 1000);
    const acquired = await caller().acquire(key, PUBLISHED, { headers: { "content-type": "application/json" } });
    const after = Math.floor((Date.now() + PUBLISHED.ttl) / 1000);
    expect(acquired.status).toBe(200);
    const { token, fence, expires_in: expiresIn, expires_at: expiresAt, ...rest } = acquired.body;
    expect(rest).toEqual({ status: "acquired", key, mode: "exclusive", reentrant: false, depth: 1, ttl: 10_000 });
    expect(token.length).toBeGreaterThanOrEqual(22);
    expect(Number.isSafeInteger(fence)).toBe(true);
    expect(Number.isInteger(expiresIn) && expiresIn > 9_000 && expiresIn <= 10_000).toBe(true);
    expect(expiresAt).toBeGreaterThanOrEqual(before);
    expect(expiresAt).toBeLessThanOrEqual(after);

    const extended = await caller().extend(key, { token, ttl: 20_000 });
    expect(extended).toMatchObject({ status: 200, body: { status: "extended", key, token, fence, ttl: 20_000 } });
    expect(extended.body.expires_in).toBeGreaterThan(19_000);
    expect(extended.body.expires_at).toBeGreaterThan(expiresAt);

    const released = await caller().release(key, { token });
    expect(released).toMatchObject({ status: 200 });
    expect(released.body).toEqual({ status: "released" });
  });

  test("a second caller waits, and has the key when the first lets go", async () => {
    const key = freshKey();
    const first = await caller().acquire(key, PUBLISHED);
    const second = caller().acquire(key, PUBLISHED);
    await caller().waiting(key, 1);
    await caller().release(key, { token: first.body.token });
    const answer = await second;
    expect(answer).toMatchObject({ status: 200, body: { status: "acquired", reentrant: false } });
    expect(answer.body.fence).toBeGreaterThan(first.body.fence);
    expect(answer.body.token).not.toBe(first.body.token);
  });

  test(
    "acquire with the token is re-entry: at once, the same token and fence, and never a shorter lease",
    calm.options,
    async () => {
      const key = freshKey();
      const { body: first } = await caller().acquire(key, PUBLISHED);
      using session = await openSession(subject.socketUrl);
      await session.queue(key);
      const { status, body: again } = await caller().acquire(key, { ...PUBLISHED, token: first.token });
      expect(status).toBe(200);
      expect(again).toMatchObject({ reentrant: true, token: first.token, fence: first.fence, depth: 1 });
      expect(again.expires_at).toBeGreaterThanOrEqual(first.expires_at);

      const { body: shorter } = await caller().acquire(key, { ttl: 1000, token: first.token });
      expect(shorter.expires_in).toBeGreaterThan(8000);
      const { body: longer } = await caller().acquire(key, { ttl: 60_000, token: first.token });
      expect(longer.expires_in).toBeGreaterThan(58_000);
    },
  );

  test("a wait that is over is a problem 408 that says who holds, and never a token", async () => {
    const key = freshKey();
    const held = await caller().acquire(key, { meta: { job: "nightly" } });
    const answer = await caller().acquire(key, { timeout: 50 });
    expect(answer.status).toBe(408);
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({
      type: "urn:latchkey:problem:timeout",
      title: expect.any(String),
      status: 408,
      detail: expect.any(String),
      code: "timeout",
      retryable: true,
      key,
      holder: { mode: "exclusive", fence: held.body.fence, since: expect.any(Number), meta: { job: "nightly" } },
    });
    expect(JSON.stringify(answer.body)).not.toContain(held.body.token);
    expect((await caller().status(key)).body.waiting).toBe(0);
  });

  test("on_timeout ok answers 200 in place of 408", async () => {
    const key = freshKey();
    await caller().acquire(key);
    const answer = await caller().acquire(key, { timeout: 0, on_timeout: "ok" });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: "timeout" });
  });

  test("timeout 0 takes a free key and does not wait for a held one", calm.options, async () => {
    const key = freshKey();
    expect((await caller().acquire(key, { timeout: 0 })).status).toBe(200);
    const startedAt = performance.now();
    expect((await caller().acquire(key, { timeout: 0 })).status).toBe(408);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  test("a lease is 30 s where nothing else is asked", async () => {
    const { body } = await caller().acquire(freshKey());
    expect(body.ttl).toBe(30_000);
  });

  test("an empty body is {}, and a body is JSON whatever the content type says", async () => {
    const headers = { "content-type": "text/plain" };
    const empty = await caller().request("POST", `/v1/latch/${freshKey()}/acquire`, undefined, { headers });
    expect(empty.status).toBe(200);
    const plain = await caller().acquire(freshKey(), { ttl: 5000 }, { headers });
    expect(plain.body.ttl).toBe(5000);
  });

  test.each(["{", "nonsense", '{"ttl":1000', "\u0000"])("a body that is no JSON is bad_json: %j", async (body) => {
    const answer = await caller().request("POST", `/v1/latch/${freshKey()}/acquire`, body);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_json" } });
  });

  test.each([
    { ttl: 0 },
    { ttl: -1 },
    { ttl: 99 },
    { ttl: 1000.5 },
    { ttl: "5000" },
    { ttl: 1e12 },
    { ttl: 86_400_001 },
    { ttl: null },
    { timeout: -1 },
    { timeout: 0.5 },
    { timeout: "0" },
    { timeout: 600_001 },
    { timeout: null },
    { mode: "both" },
    { mode: null },
    { limit: 2 },
    { mode: "shared", limit: 0 },
    { mode: "shared", limit: 100_001 },
    { token: "" },
    { token: 7 },
    { nest: true },
    { steal: "yes" },
    { steal: true, mode: "shared" },
    { message: "without steal" },
    { on_timeout: "never" },
    { request_id: "" },
  ])("a wrong field is bad_request and changes nothing: %j", async (fields) => {
    const key = freshKey();
    const answer = await caller().acquire(key, fields);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request", retryable: false } });
    expect((await caller().status(key)).body).toMatchObject({ status: "free", waiting: 0 });
  });

  test("meta above 1 KiB and a request id above 255 characters are bad_request", async () => {
    const long = { "idempotency-key": "x".repeat(256) };
    for (const answer of [
      await caller().acquire(freshKey(), { meta: "x".repeat(1023) }),
      await caller().acquire(freshKey(), { request_id: "x".repeat(256) }),
      await caller().acquire(freshKey(), {}, { headers: long }),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
    }
  });

  test.each([[], "text", 7, null])("a body that is no object is refused: %j", async (body) => {
    const answer = await caller().request("POST", `/v1/latch/${freshKey()}/acquire`, JSON.stringify(body));
    expect(answer.status).toBe(400);
  });

  test("members that nobody knows are ignored", async () => {
    const answer = await caller().acquire(freshKey(), { ttl: 1000, colour: "green" });
    expect(answer.status).toBe(200);
  });

  test("a body may have 64 KiB and no more", async () => {
    const body = (bytes: number): string => {
      const frame = '{"pad":""}';
      return `{"pad":"${"x".repeat(bytes - frame.length)}"}`;
    };
    const path = `/v1/latch/${freshKey()}/acquire`;
    expect((await caller().request("POST", path, body(65_536))).status).toBe(200);
    const answer = await caller().request("POST", path, body(65_537));
    expect(answer).toMatchObject({ status: 413, body: { code: "too_large" } });
  });

  test("meta of 1 KiB is accepted and shown", async () => {
    const key = freshKey();
    const meta = "x".repeat(1022);
    expect((await caller().acquire(key, { meta })).status).toBe(200);
    expect((await caller().status(key)).body.holders[0].meta).toBe(meta);
  });

  test("an unknown route is 404 and a wrong method 405, as problems", async () => {
    expect(await caller().request("GET", "/v2/latch/a")).toMatchObject({ status: 404, body: { code: "not_found" } });
    const wrong = await caller().request("GET", "/v1/latch/a/acquire");
    expect(wrong).toMatchObject({ status: 405, body: { code: "method_not_allowed" } });
    expect(wrong.headers.get("content-type")).toMatch(/^application\/problem\+json/);
  });

  test("a session without an upgrade is 426", async () => {
    const answer = await caller().request("GET", "/v1/session");
    expect(answer).toMatchObject({ status: 426, body: { code: "upgrade_required" } });
  });

  test("the list is in code unit order, page by page, without the end twice", async () => {
    using session = await openSession(subject.socketUrl, { space: "pages" });
    const keys = ["p/z", "p/a", "p/ä", "p/10", "p/9", "p/\ud83d\ude00", "p/\uffee", "other"];
    for (const key of keys) await session.acquire(key);
    const wanted = keys.filter((key) => key.startsWith("p/")).sort();

    const seen: string[] = [];
    let after = "";
    for (let page = 0; page < 10; page++) {
      const { body } = await caller().request(
        "GET",
        `/v1/latch?space=pages&prefix=p%2F&count=3${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`,
      );
      expect(body.keys.length).toBeLessThanOrEqual(3);
      seen.push(...body.keys.map(({ key }: { key: string }) => key));
      if (body.next === undefined) break;
      after = body.next;
    }
    expect(seen).toEqual(wanted);

    const frame = await session.ask({ t: "list", prefix: "p/", after: wanted[1], count: 2 }, "list");
    expect(frame.keys.map(({ key }) => key)).toEqual(wanted.slice(2, 4));
    expect(frame.next).toBe(wanted[3]);
  });

  test.each(["0", "1001", "-1", "x", "1.5"])("a list page of %s is refused", async (count) => {
    const answer = await caller().request("GET", `/v1/latch?count=${count}`);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
  });
}
