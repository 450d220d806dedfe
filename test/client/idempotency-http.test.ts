import { describe, expect, test } from "vitest";
import { RefusedError, UnavailableError } from "../../src/client/index.ts";
import {
  AttemptLostError,
  type BeginOptions,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  type Started,
} from "../../src/client/idempotency.ts";
import { type ScriptedHttp, scriptedHttp } from "./support/scripted-http.ts";
import { outcome, settle } from "./support/virtual-time.ts";

type Told = Readonly<Record<string, unknown>>;

function startTold(members: Told = {}): Told {
  const lease = { lease: 30_000, expires_in: 30_000, expires_at: 1_700_000_030 };
  return { status: "started", key: "k", attempt: "attempt-1", number: 1, ...lease, ...members };
}

function replay(bytes: Uint8Array<ArrayBuffer>, type: string, number: number): Response {
  const headers = { "content-type": type, "idempotent-replayed": "true", "latchkey-attempt-number": String(number) };
  return new Response(bytes, { headers });
}

async function started(http: ScriptedHttp, options: BeginOptions = {}, members: Told = {}): Promise<Started> {
  const beginning = http.client.idempotency.begin("k", options);
  await settle();
  await http.one().answer(startTold(members), 201);
  const begun = await beginning;
  return begun.status === "started" ? begun : expect.fail("not started");
}

describe("begin over HTTP", () => {
  test("sends what was asked under a request id, and gives the attempt", async () => {
    const http = scriptedHttp({ auth: "key-1", space: "shop" });
    const beginning = http.client.idempotency.begin("a/b", { fingerprint: "f", ttl: 60_000, lease: 5_000 });
    await settle();
    const sent = http.one();
    expect(sent.url).toBe("https://latchkey.test/v1/idempotency/a%2Fb/begin?space=shop");
    expect(sent.headers.get("authorization")).toBe("Bearer key-1");
    const { request_id: id, ...body } = sent.body;
    expect(body).toEqual({ fingerprint: "f", ttl: 60_000, lease: 5_000, timeout: 0 });
    expect(String(id).length).toBeGreaterThan(20);
    await sent.answer(startTold({ number: 3, lease: 5_000, expires_in: 4_990 }), 201);
    expect(await beginning).toMatchObject({ status: "started", attempt: "attempt-1", number: 3, expiresIn: 4_990 });
  });

  test("gives the result of work that is done, byte for byte, whatever it looks like", async () => {
    const http = scriptedHttp();
    for (const [bytes, type] of [
      [new Uint8Array([0, 255, 0xc3]), "image/png"],
      [new TextEncoder().encode(JSON.stringify(startTold())), "application/json"],
      [new Uint8Array(), "text/plain"],
    ] as const) {
      const beginning = http.client.idempotency.begin("k");
      await settle();
      await http.one().respond(replay(bytes, type, 2));
      expect(await beginning).toEqual({ status: "replay", result: bytes, contentType: type, number: 2 });
    }
  });

  test("rejects in the words of the server", async () => {
    const http = scriptedHttp();
    const refused = async (...told: Parameters<ReturnType<ScriptedHttp["one"]>["problem"]>): Promise<unknown> => {
      const beginning = http.client.idempotency.begin("k");
      beginning.catch(() => undefined);
      await settle();
      await http.one().problem(...told);
      return outcome(beginning);
    };
    const inProgress = await refused("in_progress", { retry_after_ms: 700 });
    expect(inProgress).toBeInstanceOf(IdempotencyInProgressError);
    expect(inProgress).toMatchObject({ retryAfterMs: 700, key: "k" });
    expect(await refused("fingerprint_mismatch")).toBeInstanceOf(IdempotencyMismatchError);
    expect(await refused("limit", { limit: "records" })).toMatchObject({ limit: "records" });
  });

  test("whose answer was lost is sent again in the same words, so that it does not meet itself in progress", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k");
    await settle();
    const first = http.one();
    await first.fail();
    await http.time.advance(1_000);
    const second = http.one();
    expect(second.body).toEqual(first.body);
    await second.problem("unavailable", { retry_after_ms: 20_000 });
    expect(await outcome(beginning)).toBeInstanceOf(UnavailableError);
  });

  test("waits in calls of ten minutes at most, each a begin of its own", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k", { timeout: 700_000 });
    await settle();
    const first = http.one();
    expect(first.body).toMatchObject({ timeout: 600_000 });
    await http.time.advance(600_000);
    await first.problem("in_progress", { retry_after_ms: 5_000 });
    const second = http.one();
    expect(second.body).toMatchObject({ timeout: 100_000 });
    expect(second.body["request_id"]).not.toBe(first.body["request_id"]);
    await http.time.advance(100_000);
    await second.problem("in_progress", { retry_after_ms: 5_000 });
    expect(await outcome(beginning)).toMatchObject({ name: "IdempotencyInProgressError", retryAfterMs: 5_000 });
  });

  test("after a wait is asked once more, and its lease is counted from then", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k", { timeout: 60_000, lease: 10_000 });
    await settle();
    const first = http.one();
    await http.time.advance(50_000);
    await first.answer(startTold({ lease: 10_000, expires_in: 10_000 }), 201);
    expect(await outcome(beginning)).toBe("pending");
    const second = http.one();
    expect(second.body).toEqual(first.body);
    await second.answer(startTold({ lease: 10_000, expires_in: 10_000 }), 201);
    const begun = (await beginning) as Started;
    await http.time.advance(8_999);
    expect(begun.signal.aborted).toBe(false);
    await http.time.advance(1);
    expect(begun.signal.aborted).toBe(true);
  });

  test("that is started so late that nothing of its lease is left is given back, and is no attempt", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k", { lease: 200 });
    const rejected = outcome(beginning);
    for (let i = 0; i < 2; i++) {
      await settle();
      const sent = http.one();
      await http.time.advance(190);
      await sent.answer(startTold({ lease: 200, expires_in: 200 }), 201);
    }
    expect(await rejected).toBe("pending");
    expect(await outcome(beginning)).toMatchObject({ name: "AttemptLostError", reason: "expired" });
    const back = http.one();
    expect([back.path, back.body]).toEqual(["/v1/idempotency/k/fail", { attempt: "attempt-1" }]);
    await back.problem("attempt_lost", { reason: "expired" });
    expect(http.errors).toEqual([]);
  });

  test("whose lease cannot be proven is given back", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k", { timeout: 60_000, lease: 10_000 });
    await settle();
    const first = http.one();
    await http.time.advance(50_000);
    await first.answer(startTold({ lease: 10_000, expires_in: 10_000 }), 201);
    await http.one().problem("forbidden");
    expect(await outcome(beginning)).toMatchObject({ code: "forbidden" });
    expect(http.one().body).toEqual({ attempt: "attempt-1" });
  });

  test("that waits is told that the time is over, whatever kept the answer away", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k", { timeout: 1_000 });
    await settle();
    await http.time.advance(3_000);
    expect(await outcome(beginning)).toMatchObject({ name: "IdempotencyInProgressError", retryAfterMs: 0 });
  });

  test("whose signal aborts rejects at once, and a start that comes all the same is given back", async () => {
    const http = scriptedHttp({
      fetch: (url, init) => {
        const sent = { url, body: init.body as string };
        requests.push(sent);
        return new Promise((resolve) => (answer = resolve));
      },
    });
    const requests: { url: string; body: string }[] = [];
    let answer!: (response: Response) => void;
    const stop = new AbortController();
    const beginning = http.client.idempotency.begin("k", { timeout: 60_000, signal: stop.signal });
    await settle();
    stop.abort(new Error("enough"));
    expect(await outcome(beginning)).toMatchObject({ message: "enough" });
    answer(new Response(JSON.stringify(startTold()), { status: 201 }));
    await new Promise((resolve) => setTimeout(resolve));
    expect(requests.at(-1)).toEqual({
      url: "https://latchkey.test/v1/idempotency/k/fail",
      body: '{"attempt":"attempt-1"}',
    });
  });

  test("a key that cannot be sent is refused before anything is", async () => {
    const http = scriptedHttp();
    for (const key of ["", ".", "..", "\ud800"]) {
      await expect(http.client.idempotency.begin(key)).rejects.toMatchObject({ code: "bad_key" });
    }
    expect(http.all).toEqual([]);
  });
});

describe("an attempt over HTTP", () => {
  test("is completed with bytes as they are, and with text as JSON unless it says otherwise", async () => {
    const http = scriptedHttp();
    const { attempt } = await started(http);
    for (const [result, type, sentType, bytes] of [
      ["é", undefined, "application/json", [0xc3, 0xa9]],
      ["<p>", "text/html", "text/html", [0x3c, 0x70, 0x3e]],
      [new Uint8Array([0, 255]), undefined, "application/octet-stream", [0, 255]],
      [new Uint8Array([1]), "a/b", "a/b", [1]],
    ] as const) {
      const completing = http.client.idempotency.complete("k", attempt, result, type);
      await settle();
      const sent = http.one();
      expect(sent.path).toBe("/v1/idempotency/k/complete");
      expect(sent.headers.get("latchkey-attempt")).toBe(attempt);
      expect(sent.headers.get("content-type")).toBe(sentType);
      expect(sent.raw).toEqual(new Uint8Array(bytes));
      await sent.answer({ status: "completed" });
      await completing;
    }
    await expect(http.client.idempotency.complete("k", attempt, "\ud800")).rejects.toBeInstanceOf(RefusedError);
  });

  test("is failed, extended and forgotten by its token; by an operator without one", async () => {
    const http = scriptedHttp();
    const { attempt } = await started(http);
    const { idempotency } = http.client;
    const extending = idempotency.extend("k", attempt, 5_000);
    await settle();
    let sent = http.one();
    expect([sent.path, sent.body]).toEqual(["/v1/idempotency/k/extend", { attempt, lease: 5_000 }]);
    await sent.answer({ status: "extended", key: "k", lease: 5_000, expires_in: 4_999, expires_at: 1 });
    expect(await extending).toEqual({ lease: 5_000, expiresIn: 4_999 });
    const failing = idempotency.fail("k", attempt);
    await settle();
    sent = http.one();
    expect([sent.path, sent.body]).toEqual(["/v1/idempotency/k/fail", { attempt }]);
    await sent.answer({ status: "failed" });
    await failing;
    for (const shown of [attempt, undefined]) {
      const forgetting = idempotency.forget("k", shown);
      await settle();
      sent = http.one();
      expect([sent.method, sent.path]).toEqual(["DELETE", "/v1/idempotency/k"]);
      expect(sent.headers.get("latchkey-attempt")).toBe(shown ?? null);
      await sent.answer({ status: "forgotten", existed: shown !== undefined });
      expect(await forgetting).toBe(shown !== undefined);
    }
  });

  test("is lost before its lease is over on the server, counted from when it was asked for", async () => {
    const http = scriptedHttp();
    const beginning = http.client.idempotency.begin("k");
    await settle();
    await http.time.advance(900);
    await http.one().answer(startTold({ lease: 10_000, expires_in: 10_000 }), 201);
    const begun = (await beginning) as Started;
    await http.time.advance(8_099);
    expect(begun.signal.aborted).toBe(false);
    await http.time.advance(1);
    expect(begun.signal.reason).toBeInstanceOf(AttemptLostError);
  });

  test("is extended by itself where that was asked, and its loss ends that", async () => {
    const http = scriptedHttp();
    const begun = await started(http, { renew: true, lease: 9_000 }, { lease: 9_000, expires_in: 9_000 });
    await http.time.advance(3_000);
    await http.one().answer({ status: "extended", key: "k", lease: 9_000, expires_in: 9_000 });
    await http.time.advance(3_000);
    await http.one().problem("attempt_lost", { reason: "forgotten" });
    expect(begun.signal.reason).toMatchObject({ reason: "forgotten" });
    await http.time.advance(60_000);
    expect(http.all).toHaveLength(3);
    expect(http.errors).toMatchObject([]);
  });

  test.each(["complete", "fail"] as const)(
    "is not extended by itself once %s was tried: what nobody could be told, the lease ends",
    async (verb) => {
      const http = scriptedHttp();
      const begun = await started(http, { renew: true, lease: 60_000 }, { lease: 60_000, expires_in: 60_000 });
      const ending = http.client.idempotency[verb]("k", begun.attempt, "1");
      await settle();
      await http.one().problem("forbidden", {});
      expect(await outcome(ending)).toMatchObject({ code: "forbidden" });
      const { length } = http.all;
      await http.time.advance(50_000);
      expect(begun.signal.aborted).toBe(false);
      await http.time.advance(10_000);
      expect(begun.signal.reason).toMatchObject({ reason: "expired" });
      expect(http.all).toHaveLength(length);
    },
  );

  test("whose completion gets no answer is completed again, and a loss is told", async () => {
    const http = scriptedHttp();
    const { attempt } = await started(http);
    const completing = http.client.idempotency.complete("k", attempt, "1");
    await settle();
    const first = http.one();
    await first.fail();
    await http.time.advance(1_000);
    const second = http.one();
    expect(second.raw).toEqual(first.raw);
    await second.problem("attempt_lost", { reason: "superseded" });
    expect(await outcome(completing)).toMatchObject({ name: "AttemptLostError", reason: "superseded" });
  });
});

test("idempotent over HTTP runs the work once and gives the stored result after that", async () => {
  const http = scriptedHttp();
  const first = http.client.idempotent("k", { fingerprint: "f" }, ({ number }) => ({ number }));
  await settle();
  await http.one().answer(startTold(), 201);
  const complete = http.one();
  expect(new TextDecoder().decode(complete.raw as Uint8Array)).toBe('{"number":1}');
  await complete.answer({ status: "completed" });
  expect(await first).toEqual({ number: 1 });
  const again = http.client.idempotent("k", { fingerprint: "f" }, () => expect.fail("it ran"));
  await settle();
  await http.one().respond(replay(new TextEncoder().encode('{"number":1}'), "application/json", 1));
  expect(await again).toEqual({ number: 1 });
});
