import { describe, expect, test } from "vitest";
import { settle } from "./support/time.ts";
import { type Answer, type AskOptions, KEYS, ORIGIN, World } from "./support/world.ts";

const MIB = 1024 * 1024;

function at(key: string, verb = ""): string {
  return `/v1/idempotency/${encodeURIComponent(key)}${verb === "" ? "" : `/${verb}`}`;
}

function begin(world: World, body: object = {}, options: AskOptions = {}, key = "k"): Promise<Answer> {
  return world.ask("POST", at(key, "begin"), body, options);
}

function post(world: World, verb: string, body: object, key = "k"): Promise<Answer> {
  return world.ask("POST", at(key, verb), body);
}

function show(world: World, key = "k"): Promise<Answer> {
  return world.ask("GET", at(key));
}

async function started(world: World, body: object = {}, key = "k"): Promise<string> {
  const answer = await begin(world, body, {}, key);
  expect(answer.status).toBe(201);
  return answer.body.attempt;
}

/** Starts a begin that will wait, and returns once it does. */
async function waiting(world: World, body: object, options: AskOptions = {}): Promise<{ answer: Promise<Answer> }> {
  const answer = begin(world, body, options);
  await settle();
  return { answer };
}

async function completeRaw(world: World, attempt: string, body: Uint8Array | string, type?: string): Promise<Response> {
  const headers = { "latchkey-attempt": attempt, ...(type === undefined ? undefined : { "content-type": type }) };
  const sent = typeof body === "string" ? body : (body as Uint8Array<ArrayBuffer>);
  return world.host.fetch(new Request(ORIGIN + at("k", "complete"), { method: "POST", headers, body: sent }));
}

describe("begin over HTTP", () => {
  test("starts an attempt: its token, its number and its lease", async () => {
    const world = new World();
    const { status, body } = await begin(world, { lease: 5000 });
    expect(status).toBe(201);
    expect(body).toEqual({
      status: "started",
      key: "k",
      attempt: expect.stringMatching(/^minted-/),
      number: 1,
      lease: 5000,
      expires_in: 5000,
      expires_at: Math.floor((1_790_000_000_000 + 1000.5 + 5000) / 1000),
    });
  });

  test("leases 30 s where nothing else is asked", async () => {
    const { body } = await begin(new World());
    expect(body.lease).toBe(30_000);
  });

  test("while another attempt runs is told so, and when to come back", async () => {
    const world = new World();
    await started(world, { lease: 2500 });
    // Rounded up: who comes back sooner finds the same attempt.
    world.advance(400.75);
    const { status, headers, body } = await begin(world);
    expect(status).toBe(409);
    expect(body).toMatchObject({ code: "in_progress", retryable: true, retry_after_ms: 2100, key: "k" });
    expect(headers.get("retry-after")).toBe("3");
  });

  test("with another fingerprint is a mismatch, before anything is said of progress", async () => {
    const world = new World();
    const attempt = await started(world, { fingerprint: "f" });
    for (const fingerprint of ["F", "", undefined, "f "]) {
      const refused = await begin(world, { fingerprint, timeout: 1000 });
      expect(refused).toMatchObject({ status: 400, body: { code: "fingerprint_mismatch", retryable: false } });
      expect(refused.text).not.toContain('"f"');
    }
    await post(world, "complete", { attempt, result: 1 });
    expect((await begin(world, { fingerprint: "g" })).status).toBe(400);
    expect((await begin(world, { fingerprint: "f" })).status).toBe(200);
  });

  test.each([
    ["fingerprint", "x".repeat(4096), "x".repeat(4097)],
    ["fingerprint", "é".repeat(2048), "é".repeat(2049)],
    ["ttl", 1000, 999],
    ["ttl", 2_592_000_000, 2_592_000_001],
    ["lease", 100, 99],
    ["lease", 86_400_000, 86_400_001],
    ["timeout", 600_000, 600_001],
    ["timeout", 0, -1],
    ["request_id", "r".repeat(255), "r".repeat(256)],
  ])("takes a %s at its limit, not one past it", async (field, inside, outside) => {
    const world = new World();
    expect((await begin(world, { [field]: inside })).status).toBe(201);
    expect(await begin(world, { [field]: outside }, {}, "l")).toMatchObject({
      status: 400,
      body: { code: "bad_request" },
    });
    expect((await show(world, "l")).body.status).toBe("none");
  });

  test("with the same request id is the same begin; with other arguments it is refused", async () => {
    const world = new World();
    const first = await begin(world, { request_id: "r", lease: 5000 });
    world.advance(2000);
    const again = await begin(world, { lease: 5000 }, { headers: { "idempotency-key": '"r"' } });
    expect(again).toMatchObject({ status: 201, body: { attempt: first.body.attempt, number: 1, expires_in: 3000 } });
    expect(await begin(world, { request_id: "r" })).toMatchObject({ status: 422, body: { code: "request_mismatch" } });
  });

  test("ids of begins are apart from those of acquires", async () => {
    const world = new World();
    expect((await world.acquire("k", { request_id: "r" })).status).toBe(200);
    expect((await begin(world, { request_id: "r" })).status).toBe(201);
  });

  test("past the lease starts the next attempt, and the late first owner is refused", async () => {
    const world = new World();
    const first = await started(world, { lease: 1000 });
    world.advance(1000);
    const second = await begin(world);
    expect(second.body.number).toBe(2);
    for (const [verb, rest] of [
      ["complete", { result: 1 }],
      ["fail", {}],
      ["extend", { lease: 1000 }],
    ] as const) {
      const late = await post(world, verb, { attempt: first, ...rest });
      expect(late).toMatchObject({
        status: 410,
        body: { code: "attempt_lost", reason: "superseded", retryable: false },
      });
    }
    expect((await post(world, "complete", { attempt: second.body.attempt, result: 2 })).status).toBe(200);
    expect((await begin(world)).body).toBe(2);
  });
});

describe("a result", () => {
  test("of JSON is stored as JSON, and given back byte for byte", async () => {
    const world = new World();
    const attempt = await started(world);
    const completed = await post(world, "complete", { attempt, result: { b: [1, "1"], a: "é" } });
    expect(completed).toMatchObject({ status: 200, body: { status: "completed" } });
    const { status, headers, text } = await begin(world);
    expect([status, text]).toEqual([200, '{"b":[1,"1"],"a":"é"}']);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("idempotent-replayed")).toBe("true");
    expect(headers.get("latchkey-attempt-number")).toBe("1");
  });

  test.each([
    ["every byte", Uint8Array.from({ length: 256 }, (_, i) => i), "image/x-test"],
    ["nothing", new Uint8Array(), "text/plain"],
    ["a mebibyte", new Uint8Array(MIB).fill(7), "application/octet-stream"],
  ])("is the body as it is, with the attempt in a header: %s", async (_what, bytes, type) => {
    const world = new World();
    const attempt = await started(world);
    expect((await completeRaw(world, attempt, bytes, type)).status).toBe(200);
    const replay = await world.host.fetch(world.request("POST", at("k", "begin"), {}));
    expect(replay.headers.get("content-type")).toBe(type);
    expect(Buffer.from(await replay.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test("one byte too long is refused, and nothing of it is stored", async () => {
    const world = new World();
    const attempt = await started(world);
    expect((await completeRaw(world, attempt, new Uint8Array(MIB + 1))).status).toBe(413);
    const text = "x".repeat(MIB - 1);
    expect(await post(world, "complete", { attempt, result: text })).toMatchObject({
      status: 413,
      body: { code: "too_large" },
    });
    expect((await show(world)).body.status).toBe("running");
    expect((await post(world, "complete", { attempt, result: text.slice(1) })).status).toBe(200);
    expect((await show(world)).body).toMatchObject({ status: "done", bytes: MIB });
  });

  test("as JSON may be written longer than it is stored, up to 2 MiB", async () => {
    const world = new World();
    const attempt = await started(world);
    const body = (length: number): string => `{"attempt":"${attempt}","result":1`.padEnd(length - 1) + "}";
    const past = await world.ask("POST", at("k", "complete"), body(2 * MIB + 1));
    expect(past).toMatchObject({ status: 413, body: { code: "too_large" } });
    expect((await world.ask("POST", at("k", "complete"), body(2 * MIB))).status).toBe(200);
    expect((await show(world)).body.bytes).toBe(1);
  });

  test("has a content type of at most 255 characters", async () => {
    const world = new World();
    const attempt = await started(world);
    const type = (length: number): string => "text/x".padEnd(length, "x");
    expect((await completeRaw(world, attempt, "1", type(256))).status).toBe(400);
    expect((await completeRaw(world, attempt, "1", type(255))).status).toBe(200);
  });

  test("again is fine when it is the same, and refused when it is not", async () => {
    const world = new World();
    const attempt = await started(world);
    await post(world, "complete", { attempt, result: "a" });
    expect(await post(world, "complete", { attempt, result: "a" })).toMatchObject({
      status: 200,
      body: { already: true },
    });
    for (const refused of [
      await post(world, "complete", { attempt, result: "b" }),
      await completeRaw(world, attempt, '"a"', "text/plain"),
    ]) {
      expect(refused.status).toBe(409);
    }
    expect((await begin(world)).text).toBe('"a"');
  });

  test("is not shown to be looked at, nor is the attempt", async () => {
    const world = new World();
    const attempt = await started(world, { fingerprint: "secret-print" });
    expect((await show(world)).text).not.toContain(attempt);
    await post(world, "complete", { attempt, result: "secret-result" });
    const { text, body } = await show(world);
    expect(text).not.toMatch(/secret|minted/);
    expect(body).toEqual({
      key: "k",
      status: "done",
      attempts: 1,
      waiting: 0,
      expires_in: 86_400_000,
      type: "application/json",
      bytes: 15,
    });
  });
});

describe("fail, extend and forget over HTTP", () => {
  test("fail frees the key, for another fingerprint too", async () => {
    const world = new World();
    const attempt = await started(world, { fingerprint: "f" });
    expect(await post(world, "fail", { attempt })).toMatchObject({ status: 200, body: { status: "failed" } });
    expect((await begin(world, { fingerprint: "g" })).body.number).toBe(1);
    expect(await post(world, "fail", { attempt })).toMatchObject({ status: 410, body: { reason: "superseded" } });
  });

  test("extend counts from now, and revives nothing", async () => {
    const world = new World();
    const attempt = await started(world, { lease: 1000 });
    world.advance(900);
    expect((await post(world, "extend", { attempt, lease: 1000 })).body).toMatchObject({
      status: "extended",
      lease: 1000,
      expires_in: 1000,
    });
    world.advance(1000);
    expect(await post(world, "extend", { attempt, lease: 1000 })).toMatchObject({
      status: 410,
      body: { reason: "expired" },
    });
    expect((await show(world)).body.status).toBe("idle");
  });

  test("forget is for the owner and for operators", async () => {
    const world = new World({ keys: KEYS });
    const as = (index: number, more: object = {}): AskOptions => ({
      headers: { authorization: `Bearer ${KEYS[index]!.secret}`, ...more },
    });
    const { body } = await begin(world, {}, as(0));
    expect((await world.ask("DELETE", at("k"), undefined, as(0))).status).toBe(403);
    const wrong = await world.ask("DELETE", at("k"), undefined, as(0, { "latchkey-attempt": "guess" }));
    expect(wrong).toMatchObject({ status: 410, body: { code: "attempt_lost" } });
    const owned = await world.ask("DELETE", at("k"), undefined, as(0, { "latchkey-attempt": body.attempt }));
    expect(owned.body).toEqual({ status: "forgotten", existed: true });
    expect((await world.ask("DELETE", at("k"), undefined, as(3))).body).toEqual({
      status: "forgotten",
      existed: false,
    });
  });

  test.each([
    ["POST", "complete", {}],
    ["POST", "complete", { attempt: "a" }],
    ["POST", "complete", { attempt: "", result: 1 }],
    ["POST", "fail", {}],
    ["POST", "extend", { attempt: "a" }],
    ["POST", "extend", { attempt: "a".repeat(129), lease: 1000 }],
  ])("%s %s with %j is a bad request", async (method, verb, body) => {
    expect(await new World().ask(method, at("k", verb), body)).toMatchObject({
      status: 400,
      body: { code: "bad_request" },
    });
  });

  test("a key is read as those of locks are, and other methods are refused", async () => {
    const world = new World();
    expect((await world.ask("POST", "/v1/idempotency//begin", {})).body.code).toBe("bad_key");
    expect((await world.ask("POST", `/v1/idempotency/${"k".repeat(256)}/begin`, {})).body.code).toBe("bad_key");
    expect((await begin(world, {}, {}, "a/b")).body.key).toBe("a/b");
    expect((await world.ask("PUT", at("k", "begin"))).headers.get("allow")).toBe("POST");
    expect((await world.ask("PUT", at("k"))).headers.get("allow")).toBe("GET, DELETE");
  });
});

describe("a begin that waits over HTTP", () => {
  test("gets the result when the attempt completes, all of them in one step", async () => {
    const world = new World();
    const attempt = await started(world);
    const calls = await Promise.all([1, 2, 3].map(() => waiting(world, { timeout: 5000 })));
    expect((await show(world)).body.waiting).toBe(3);
    await post(world, "complete", { attempt, result: "done" });
    for (const { answer } of calls) expect(await answer).toMatchObject({ status: 200, text: '"done"' });
  });

  test("starts the next attempt when the one before fails, the first who came first", async () => {
    const world = new World();
    const attempt = await started(world);
    const first = await waiting(world, { timeout: 5000 });
    const second = await waiting(world, { timeout: 5000 });
    await post(world, "fail", { attempt });
    expect(await first.answer).toMatchObject({ status: 201, body: { number: 2 } });
    world.advance(5000);
    expect(await second.answer).toMatchObject({ status: 409, body: { retry_after_ms: 25_000 } });
  });

  test("hangs up and has no place any more", async () => {
    const world = new World();
    const attempt = await started(world);
    const stop = new AbortController();
    const first = await waiting(world, { timeout: 5000 }, { signal: stop.signal });
    const second = await waiting(world, { timeout: 5000 });
    stop.abort();
    await settle();
    expect((await show(world)).body.waiting).toBe(1);
    expect((await first.answer).status).toBe(409);
    await post(world, "fail", { attempt });
    expect((await second.answer).status).toBe(201);
  });

  test("that is repeated with its id keeps its place, and ends when the last of its callers is gone", async () => {
    const world = new World();
    await started(world);
    const stops = [new AbortController(), new AbortController()];
    const body = { timeout: 5000, request_id: "r" };
    for (const stop of stops) await waiting(world, body, { signal: stop.signal });
    expect((await show(world)).body.waiting).toBe(1);
    stops[0]!.abort();
    await settle();
    expect((await show(world)).body.waiting).toBe(1);
    stops[1]!.abort();
    await settle();
    expect((await show(world)).body.waiting).toBe(0);
  });

  test("is sent away by a drain", async () => {
    const world = new World();
    await started(world);
    const { answer } = await waiting(world, { timeout: 5000 });
    const drained = world.host.drain();
    expect(await answer).toMatchObject({ status: 503, body: { code: "draining" } });
    await drained;
  });

  test("whose start could not be sent gives it back, to the next", async () => {
    const world = new World();
    const response = await world.host.fetch(world.request("POST", at("k", "begin"), { request_id: "r" }));
    const { answer } = await waiting(world, { timeout: 5000 });
    world.host.undelivered(response);
    expect(await answer).toMatchObject({ status: 201, body: { number: 2 } });
    // The old id begins anew: nobody knows the attempt that it started.
    expect((await begin(world, { request_id: "r" })).status).toBe(409);
  });

  test("a repeat that comes while its start is given back begins anew", async () => {
    const world = new World();
    const first = await world.host.fetch(world.request("POST", at("k", "begin"), { request_id: "r" }));
    world.store.mode = "held";
    world.host.undelivered(first);
    const again = begin(world, { request_id: "r" });
    await settle();
    world.store.finish();
    await settle();
    world.store.finish();
    const { status, body } = await again;
    expect(status).toBe(201);
    expect(body.attempt).not.toBe(((await first.json()) as { attempt: string }).attempt);
  });

  test("a start that a repeat was told of is not given back", async () => {
    const world = new World();
    const response = await world.host.fetch(world.request("POST", at("k", "begin"), { request_id: "r" }));
    expect((await begin(world, { request_id: "r" })).status).toBe(201);
    world.host.undelivered(response);
    expect((await show(world)).body.status).toBe("running");
  });
});

test("a start that two equal calls were told of is given back when it reached neither", async () => {
  const world = new World();
  const attempt = await started(world);
  const call = (): Promise<Response> =>
    world.host.fetch(world.request("POST", at("k", "begin"), { request_id: "r", timeout: 5000 }));
  const calls = [call(), call()];
  await settle();
  await post(world, "fail", { attempt });
  const [first, second] = await Promise.all(calls);
  expect([first!.status, second!.status]).toEqual([201, 201]);
  world.host.undelivered(first!);
  expect((await show(world)).body.status).toBe("running");
  world.host.undelivered(second!);
  expect((await show(world)).body.status).toBe("none");
});

describe("what is stored", () => {
  test("a restart keeps records, attempts of callers and what is left of their leases", async () => {
    const world = new World();
    const done = await started(world, {}, "done");
    await post(world, "complete", { attempt: done, result: 1 }, "done");
    const attempt = await started(world, { lease: 5000 });
    world.advance(1000);
    const host = world.restarted();
    const ask = async (verb: string, body: object, key = "k"): Promise<Response> =>
      host.fetch(world.request("POST", at(key, verb), body));
    expect((await ask("begin", {}, "done")).status).toBe(200);
    expect((await ask("begin", {})).headers.get("retry-after")).toBe("4");
    expect((await ask("complete", { attempt, result: 2 })).status).toBe(200);
  });

  test("a record that cannot be read is 503 for its key alone, and is not written over", async () => {
    const world = new World();
    const attempt = await started(world);
    await post(world, "complete", { attempt, result: 1 });
    world.store.unreadable.add("k");
    const commits = world.store.commits.length;
    for (const answer of [
      await begin(world),
      await post(world, "complete", { attempt, result: 1 }),
      await post(world, "fail", { attempt }),
      await world.ask("DELETE", at("k"), undefined, { headers: { "latchkey-attempt": attempt } }),
      await show(world),
    ]) {
      expect(answer).toMatchObject({ status: 503, body: { code: "unavailable", retryable: true } });
    }
    expect(world.store.commits.length).toBe(commits);
    expect((await begin(world, {}, {}, "other")).status).toBe(201);
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_store_failures_total 5");
    expect(world.errors.every(({ where }) => where === "find")).toBe(true);
    world.store.unreadable.clear();
    expect((await begin(world)).text).toBe("1");
  });

  test("a record that cannot be read is removed by an operator, and by nobody else", async () => {
    const world = new World({ keys: KEYS });
    const as = (index: number): AskOptions => ({ headers: { authorization: `Bearer ${KEYS[index]!.secret}` } });
    for (const key of ["k", "l"]) world.store.unreadable.add(key);
    expect((await world.ask("DELETE", at("k"), undefined, as(0))).status).toBe(403);
    expect((await begin(world, {}, as(0))).status).toBe(503);
    expect((await world.ask("DELETE", at("k"), undefined, as(3))).body).toEqual({ status: "forgotten", existed: true });
    expect((await begin(world, {}, as(0))).status).toBe(201);
    expect((await begin(world, {}, as(0), "l")).status).toBe(503);
  });

  test("a store that is down is 503, and nothing is started", async () => {
    const world = new World();
    world.store.mode = "broken";
    expect((await begin(world)).status).toBe(503);
    world.store.mode = "sync";
    expect((await begin(world)).body.number).toBe(1);
  });

  test("a store without room takes no new record, but goes on with those it has", async () => {
    const world = new World();
    const attempt = await started(world);
    world.store.hasNoRoom = true;
    expect(await begin(world, {}, {}, "new")).toMatchObject({ status: 429, body: { code: "limit", limit: "records" } });
    expect((await post(world, "complete", { attempt, result: 1 })).status).toBe(200);
    expect((await begin(world)).text).toBe("1");
  });

  test("what has expired is not replayed, and is deleted within ten minutes", async () => {
    const world = new World();
    const attempt = await started(world, { ttl: 10_000 });
    await post(world, "complete", { attempt, result: 1 });
    world.advance(9999);
    expect((await begin(world)).status).toBe(200);
    world.advance(1);
    expect((await show(world)).body.status).toBe("none");
    world.advance(600_000);
    expect(world.store.recordKeys()).toEqual([]);
    expect(world.store.sweeps.length).toBeLessThan(5);
  });

  test("what an earlier start left behind is deleted after the next one", async () => {
    const world = new World();
    const attempt = await started(world, { ttl: 1000 });
    await post(world, "complete", { attempt, result: 1 });
    world.time.skip(60_000);
    const host = world.restarted();
    await host.fetch(world.request("GET", at("other")));
    expect(world.store.recordKeys()).toEqual([]);
  });

  test("a store that fails to delete is asked again, and nobody else is concerned", async () => {
    const world = new World();
    await started(world, { ttl: 1000, lease: 100 });
    const sweep = world.store.sweep.bind(world.store);
    world.store.sweep = () => {
      throw new Error("the disk is full");
    };
    world.advance(600_000);
    expect(world.errors).toEqual([expect.objectContaining({ where: "sweep" })]);
    expect((await begin(world, {}, {}, "other")).status).toBe(201);
    world.store.sweep = sweep;
    world.advance(600_000);
    expect(world.store.recordKeys()).not.toContain("k");
  });

  test("the life of a record is the host's own, where a begin says nothing of it", async () => {
    const world = new World({ recordTtlMs: 5000 });
    const attempt = await started(world);
    await post(world, "complete", { attempt, result: 1 });
    expect((await show(world)).body.expires_in).toBe(5000);
    expect(() => new World({ recordTtlMs: 999 })).toThrow(RangeError);
    expect(() => new World({ recordTtlMs: 2_592_000_001 })).toThrow(RangeError);
  });

  test("with a prefix keys are kept under it, and told without it", async () => {
    const world = new World({ prefix: "app:" });
    expect((await begin(world)).body.key).toBe("k");
    expect(world.store.recordKeys()).toEqual(["app:k"]);
  });
});

test("a page may read what it needs of a replay", async () => {
  const world = new World();
  const { headers } = await begin(world, {}, { headers: { origin: ORIGIN } });
  expect(headers.get("access-control-expose-headers")).toMatch(/idempotent-replayed/i);
  const asked = await world.ask("OPTIONS", at("k", "begin"), undefined, {
    headers: { origin: ORIGIN, "access-control-request-method": "POST" },
  });
  expect(asked.headers.get("access-control-allow-headers")).toMatch(/latchkey-attempt/i);
});

test("what became of begins and attempts is counted", async () => {
  const world = new World();
  const attempt = await started(world);
  await begin(world);
  await post(world, "complete", { attempt, result: 1 });
  await begin(world);
  const { text } = await world.ask("GET", "/metrics");
  for (const outcome of ["started", "in_progress", "completed", "replay"]) {
    expect(text).toContain(`latchkey_idempotency_total{outcome="${outcome}"} 1`);
  }
  expect(text).toContain("latchkey_attempts 0");
});
