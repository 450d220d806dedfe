import { describe, expect, test } from "vitest";
import { RefusedError, UnavailableError } from "../../src/client/index.ts";
import {
  AttemptLostError,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  type BeginOptions,
  type Started,
} from "../../src/client/idempotency.ts";
import type { StartedFrame } from "../../src/protocol/idempotency-told.ts";
import { beat, connected, greet, type Scripted, welcome } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

function startOf(id: string, told: Partial<StartedFrame> = {}): StartedFrame {
  const base = { t: "started", id, key: "k", attempt: `attempt-${id}`, number: 1 } as const;
  return { ...base, lease: 30_000, expires_in: 30_000, ...told };
}

/** Begins and is started. */
async function started(
  server: Scripted,
  options: BeginOptions = {},
  told: Partial<StartedFrame> = {},
): Promise<Started & { readonly id: string }> {
  const beginning = server.client.idempotency.begin("k", options);
  await settle();
  const { id } = server.end().one("begin");
  await server.end().say(startOf(id, told));
  const begun = await beginning;
  if (begun.status !== "started") throw new Error("not started");
  return new Proxy(begun, { get: (target, name) => (name === "id" ? id : Reflect.get(target, name)) }) as never;
}

describe("begin in a session", () => {
  test("sends what was asked, and gives the attempt", async () => {
    const server = await connected();
    const asked = { fingerprint: "f", ttl: 60_000, lease: 5_000 };
    const beginning = server.client.idempotency.begin("k", asked);
    await settle();
    const { id, ...frame } = server.end().one("begin");
    expect(frame).toEqual({ t: "begin", key: "k", ...asked });
    await server.end().say(startOf(id, { number: 3, lease: 5_000, expires_in: 4_999 }));
    const begun = await beginning;
    expect(begun).toMatchObject({
      status: "started",
      attempt: `attempt-${id}`,
      number: 3,
      lease: 5_000,
      expiresIn: 4_999,
    });
    expect((begun as Started).signal.aborted).toBe(false);
  });

  test("gives the result of work that is done, byte for byte", async () => {
    const server = await connected();
    for (const [told, bytes] of [
      [{ result: "é" }, [0xc3, 0xa9]],
      [{ result: "AP8=", encoding: "base64" }, [0, 255]],
    ] as const) {
      const beginning = server.client.idempotency.begin("k");
      await settle();
      const { id } = server.end().one("begin");
      await server.end().say({ t: "replay", id, key: "k", number: 2, type: "a/b", ...told });
      expect(await beginning).toEqual({
        status: "replay",
        result: new Uint8Array(bytes),
        contentType: "a/b",
        number: 2,
      });
    }
  });

  test("rejects in the words of the server", async () => {
    const server = await connected();
    const refused = async (answer: object): Promise<unknown> => {
      const beginning = server.client.idempotency.begin("k");
      beginning.catch(() => undefined);
      await settle();
      const { id } = server.end().one("begin");
      await server.end().say({ id, key: "k", ...answer } as never);
      return outcome(beginning);
    };
    const inProgress = await refused({ t: "in_progress", retry_after_ms: 700 });
    expect(inProgress).toBeInstanceOf(IdempotencyInProgressError);
    expect(inProgress).toMatchObject({ code: "in_progress", key: "k", retryAfterMs: 700, retryable: true });
    const refusal = { t: "refused", detail: "", retryable: false };
    expect(await refused({ ...refusal, code: "fingerprint_mismatch" })).toBeInstanceOf(IdempotencyMismatchError);
    expect(await refused({ ...refusal, code: "unavailable", retryable: true })).toBeInstanceOf(UnavailableError);
    expect(await refused({ ...refusal, code: "limit", limit: "begins", retryable: true })).toMatchObject({
      limit: "begins",
    });
  });

  test("waits for the connection, and then says what is left of its wait", async () => {
    const server = await connected();
    await server.end().drop();
    const beginning = server.client.idempotency.begin("k", { timeout: 10_000 });
    await server.time.advance(1_000);
    await greet(server);
    const frame = server.end().one("begin");
    expect(frame).toMatchObject({ timeout: 9_000 });
    await server.end().say({ t: "attempt_queued", id: frame.id, position: 1 });
    expect(await outcome(beginning)).toBe("pending");
  });

  test("gives up by itself when nobody says that the wait is over, and leaves the queue", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const beginning = server.client.idempotency.begin("k", { timeout: 1_000 });
    await settle();
    const { id } = server.end().one("begin");
    await server.time.advance(2_999);
    expect(await outcome(beginning)).toBe("pending");
    await server.time.advance(1);
    expect(await outcome(beginning)).toBeInstanceOf(IdempotencyInProgressError);
    expect(server.end().one("cancel_begin").id).toBe(id);
    await server.end().say(startOf(id));
    expect(server.end().one("cancel_begin").id).toBe(id);
  });

  test("whose signal aborts leaves the queue, and gives back a start that crossed it", async () => {
    const server = await connected();
    const stop = new AbortController();
    const beginning = server.client.idempotency.begin("k", { timeout: 60_000, signal: stop.signal });
    await settle();
    const { id } = server.end().one("begin");
    const reason = new Error("enough");
    stop.abort(reason);
    expect(await outcome(beginning)).toBe(reason);
    expect(server.end().one("cancel_begin").id).toBe(id);
    await server.end().say(startOf(id));
    expect(server.end().one("cancel_begin").id).toBe(id);
    await expect(server.client.idempotency.begin("k", { signal: stop.signal })).rejects.toBe(reason);
    expect(server.end().sent()).toEqual([]);
  });

  test("asks once more when a start after a long wait proves too little of its lease", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const beginning = server.client.idempotency.begin("k", { timeout: 600_000, lease: 10_000 });
    await settle();
    const begin = server.end().one("begin");
    await server.end().say({ t: "attempt_queued", id: begin.id, position: 1 });
    await server.time.advance(60_000);
    await server.end().say(startOf(begin.id, { lease: 10_000, expires_in: 10_000 }));
    expect(await outcome(beginning)).toBe("pending");
    expect(server.end().one("begin")).toEqual(begin);
    await server.end().say(startOf(begin.id, { lease: 10_000, expires_in: 9_900 }));
    const begun = (await beginning) as Started;
    await server.time.advance(8_909);
    expect(begun.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(begun.signal.aborted).toBe(true);
  });

  test("that waits asks again in the same words after a resume, and is the same begin", async () => {
    const server = await connected({ grace: 60_000 });
    const beginning = server.client.idempotency.begin("k", { timeout: 30_000 });
    await settle();
    const begin = server.end().one("begin");
    await server.end().say({ t: "attempt_queued", id: begin.id, position: 1 });
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { grace: 60_000, resumed: true, claims: [] });
    expect(server.end().one("begin")).toEqual(begin);
    await server.end().say(startOf(begin.id));
    expect(await outcome(beginning)).toMatchObject({ status: "started" });
  });

  test("that is started after a resume counts its lease from the hello: the start may have been told before the repeat was heard", async () => {
    const server = await connected({ grace: 60_000 }, { deadline: 0, ping: 0 });
    const beginning = server.client.idempotency.begin("k", { timeout: 30_000 });
    await settle();
    await server.end().say({ t: "attempt_queued", id: server.end().one("begin").id, position: 1 });
    await server.end().drop();
    await server.time.advance(1_000);
    await server.end().open();
    await server.time.advance(3_000);
    await server.end().say(welcome({ deadline: 0, ping: 0, grace: 60_000, resumed: true, claims: [] }));
    const [, repeat] = server.end().sent() as { id: string }[];
    await server.end().say(startOf(repeat!.id));
    const begun = (await beginning) as Started;
    await server.time.advance(24_999);
    expect(begun.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(begun.signal.aborted).toBe(true);
  });
});

describe("an attempt in a session", () => {
  test("is lost before its lease is over on the server", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server, { lease: 10_000 }, { lease: 10_000, expires_in: 10_000 });
    await server.time.advance(8_999);
    expect(begun.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(begun.signal.reason).toBeInstanceOf(AttemptLostError);
    expect(begun.signal.reason).toMatchObject({ key: "k", reason: "expired", code: "attempt_lost", retryable: false });
  });

  test("is lost at once with its connection, and with the session's deadline", async () => {
    const server = await connected();
    const begun = await started(server);
    await server.end().drop();
    expect(begun.signal.reason).toMatchObject({ reason: "dropped" });
    await server.time.advance(1_000);
    await greet(server);
    const silent = await started(server, {}, { expires_in: 60_000 });
    await server.time.advance(13_499);
    expect(silent.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(silent.signal.reason).toMatchObject({ reason: "dropped" });
  });

  test("is lost for code that looks after a suspend, before any timer", async () => {
    const server = await connected();
    const begun = await started(server, {}, { expires_in: 600_000 });
    server.time.suspend(60_000);
    expect(begun.signal.reason).toMatchObject({ reason: "dropped" });
  });

  test("is lost when the server says so, and when the client is closed", async () => {
    const server = await connected();
    const begun = await started(server);
    await server.end().say({ t: "attempt_lost", id: begun.id, key: "k", reason: "forgotten" });
    expect(begun.signal.reason).toMatchObject({ reason: "forgotten" });
    const other = await started(server);
    server.client.close().catch(() => undefined);
    expect(other.signal.reason).toMatchObject({ reason: "closed" });
  });

  test("is no longer counted once its end is on its way, and a start that is told twice is not given back", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server);
    await server.end().say(startOf(begun.id));
    expect(server.end().sent()).toEqual([]);
    const completing = server.client.idempotency.complete("k", begun.attempt, "1");
    await settle();
    const { id } = server.end().one("complete");
    await server.end().say({ t: "completed", id });
    await completing;
    await server.time.advance(120_000);
    expect(begun.signal.aborted).toBe(false);
    expect(server.time.timers).toBe(0);
  });

  test("is extended by itself where that was asked, from a third of its lease on, and no longer than it lives", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server, { renew: true, lease: 9_000 }, { lease: 9_000, expires_in: 9_000 });
    for (let i = 0; i < 10; i++) {
      await server.time.advance(3_000);
      const extend = server.end().one("extend_attempt");
      expect(extend).toMatchObject({ key: "k", attempt: begun.attempt, lease: 9_000 });
      await server.end().say({ t: "attempt_extended", id: extend.id, key: "k", lease: 9_000, expires_in: 9_000 });
    }
    expect(begun.signal.aborted).toBe(false);
    await server.time.advance(3_000);
    const last = server.end().one("extend_attempt");
    await server.end().say({ t: "attempt_lost", id: last.id, key: "k", reason: "forgotten" });
    expect(begun.signal.reason).toMatchObject({ reason: "forgotten" });
    await server.time.advance(60_000);
    expect(server.end().sent()).toEqual([]);
  });

  test("that cannot be extended is lost by the clock of the client", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server, { renew: true, lease: 9_000 }, { lease: 9_000, expires_in: 9_000 });
    await server.time.advance(8_100);
    expect(begun.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("a shorter lease counts from when it was asked for, not from its answer", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server);
    server.client.idempotency.extend("k", begun.attempt, 1_000).catch(() => undefined);
    await server.time.advance(900);
    expect(begun.signal.aborted).toBe(true);
  });

  test("that could not be completed goes on, unless it was lost", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server, {}, { expires_in: 60_000 });
    const completing = server.client.idempotency.complete("k", begun.attempt, new Uint8Array(3), "x".repeat(300));
    await settle();
    const { id, ...frame } = server.end().one("complete");
    expect(frame).toMatchObject({ result: "AAAA", encoding: "base64" });
    await server.end().say({ t: "refused", id, code: "bad_request", detail: "type", retryable: false });
    expect(await outcome(completing)).toBeInstanceOf(RefusedError);
    await server.time.advance(58_000);
    expect(begun.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("whose completion the server cannot store now is completed again", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const begun = await started(server);
    const completing = server.client.idempotency.complete("k", begun.attempt, "{}");
    await settle();
    const first = server.end().one("complete");
    expect(first).toMatchObject({ result: "{}", type: "application/json" });
    await server.end().say({ t: "refused", id: first.id, code: "unavailable", detail: "", retryable: true });
    await server.time.advance(1_000);
    expect(server.end().one("complete")).toEqual(first);
    await server.end().say({ t: "completed", id: first.id, already: true });
    expect(await outcome(completing)).toBe(undefined);
  });

  test("whose completion got no answer is completed again in the next session", async () => {
    const server = await connected();
    const begun = await started(server);
    const completing = server.client.idempotency.complete("k", begun.attempt, "{}");
    await settle();
    server.end().one("complete");
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server);
    const { id } = server.end().one("complete");
    await server.end().say({ t: "completed", id, already: true });
    expect(await outcome(completing)).toBe(undefined);
  });
});

describe("idempotent", () => {
  const run = async <T>(server: Scripted, work: Parameters<typeof server.client.idempotent<T>>[2], lease = 30_000) => {
    const result = server.client.idempotent("k", { lease }, work);
    result.catch(() => undefined);
    await settle();
    const { id } = server.end().one("begin");
    return { result, id };
  };

  test("runs the work and stores what it gives as JSON", async () => {
    const server = await connected();
    const { result, id } = await run(server, ({ number, attempt }) => ({ number, attempt }));
    await server.end().say(startOf(id, { number: 4 }));
    const complete = server.end().one("complete");
    expect(complete).toMatchObject({ attempt: `attempt-${id}`, result: `{"number":4,"attempt":"attempt-${id}"}` });
    expect(await outcome(result)).toBe("pending");
    await server.end().say({ t: "completed", id: complete.id });
    expect(await result).toEqual({ number: 4, attempt: `attempt-${id}` });
  });

  test("gives what was stored, and does not run the work", async () => {
    const server = await connected();
    const { result, id } = await run(server, () => expect.fail("it ran"));
    await server.end().say({ t: "replay", id, key: "k", number: 1, result: '{"a":[1]}', type: "application/json" });
    expect(await outcome(result)).toEqual({ a: [1] });
  });

  test("work that gives nothing gives nothing again", async () => {
    const server = await connected();
    const { id } = await run(server, () => undefined);
    await server.end().say(startOf(id));
    expect(server.end().one("complete")).toMatchObject({ result: "" });
    const again = await run(server, () => expect.fail("it ran"));
    await server.end().say({ t: "replay", id: again.id, key: "k", number: 1, result: "", type: "application/json" });
    expect(await outcome(again.result)).toBe(undefined);
  });

  test("work that throws fails the attempt, and its error comes through whatever the server says", async () => {
    const server = await connected();
    const boom = new Error("card declined");
    for (const answer of [
      { t: "failed" },
      { t: "attempt_lost", key: "k", reason: "expired" },
      { t: "refused", code: "forbidden", detail: "", retryable: false },
    ]) {
      const { result, id } = await run(server, () => Promise.reject(boom));
      await server.end().say(startOf(id));
      const fail = server.end().one("fail");
      await server.end().say({ ...answer, id: fail.id } as never);
      expect(await outcome(result)).toBe(boom);
    }
    expect(server.errors).toMatchObject([{ error: { code: "forbidden" }, where: "fail" }]);
  });

  test("what is no JSON is an error of the work", async () => {
    const server = await connected();
    const { result, id } = await run(server, () => ({ n: 1n }));
    await server.end().say(startOf(id));
    const fail = server.end().one("fail");
    await server.end().say({ t: "failed", id: fail.id });
    expect(await outcome(result)).toBeInstanceOf(TypeError);
  });

  test("work that returns after its attempt was lost rejects, and nothing is stored", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    let finish!: (value: string) => void;
    let isAborted = false;
    const { result, id } = await run(server, ({ signal }) => {
      signal.addEventListener("abort", () => (isAborted = true));
      return new Promise<string>((resolve) => (finish = resolve));
    });
    await server.end().say(startOf(id));
    await server.end().say({ t: "attempt_lost", id, key: "k", reason: "forgotten" });
    expect(isAborted).toBe(true);
    finish("late");
    expect(await outcome(result)).toMatchObject({ name: "AttemptLostError", reason: "forgotten" });
    expect(server.end().sent()).toEqual([]);
  });

  test("an error of the work wins over the loss of the attempt", async () => {
    const server = await connected();
    const { result, id } = await run(server, ({ signal }) => {
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("mine"))));
    });
    await server.end().say(startOf(id));
    await server.end().say({ t: "attempt_lost", id, key: "k", reason: "forgotten" });
    await server.end().say({ t: "attempt_lost", id: server.end().one("fail").id, key: "k", reason: "superseded" });
    expect(await outcome(result)).toMatchObject({ message: "mine" });
    expect(server.errors).toEqual([]);
  });

  test("extends the lease for as long as the work runs, and not a moment longer", async () => {
    const server = await connected();
    let finish!: (value: number) => void;
    const { result, id } = await run(server, () => new Promise<number>((resolve) => (finish = resolve)), 12_000);
    await server.end().say(startOf(id, { lease: 12_000, expires_in: 12_000 }));
    await beat(server, 4_000, 4_000);
    const extend = server
      .end()
      .sent()
      .find((frame) => typeof frame === "object" && frame["t"] === "extend_attempt");
    expect(extend).toMatchObject({ lease: 12_000 });
    await server.end().say({
      t: "attempt_extended",
      id: (extend as { id: string }).id,
      key: "k",
      lease: 12_000,
      expires_in: 12_000,
    });
    finish(5);
    await settle();
    await server.end().say({ t: "completed", id: server.end().one("complete").id });
    expect(await result).toBe(5);
    await beat(server, 40_000);
    expect(
      server
        .end()
        .sent()
        .filter((frame) => frame !== "pong"),
    ).toEqual([]);
  });

  test("whose result is too long for the server frees the key and rejects", async () => {
    const server = await connected();
    const { result, id } = await run(server, () => "x");
    await server.end().say(startOf(id));
    const complete = server.end().one("complete");
    await server.end().say({ t: "refused", id: complete.id, code: "too_large", detail: "", retryable: false });
    await server.end().say({ t: "failed", id: server.end().one("fail").id });
    expect(await outcome(result)).toMatchObject({ code: "too_large" });
  });

  test("without an answer to its completion leaves the attempt to its lease: it may be stored", async () => {
    const server = await connected({}, { deadline: 0, ping: 0 });
    const { result, id } = await run(server, () => "x");
    await server.end().say(startOf(id));
    server.end().one("complete");
    await server.time.advance(10_000);
    expect(await outcome(result)).toBeInstanceOf(UnavailableError);
    expect(server.end().sent()).toEqual([]);
  });
});
