import { expect, test } from "vitest";
import { httpClient } from "../../src/client/http.ts";
import { AttemptLostError, connect } from "../../src/client/idempotency.ts";
import { Calm, goesOn } from "./calm.ts";
import { Caller, type Answer } from "./caller.ts";
import { figure } from "./figures.ts";
import { keepSecret } from "./secrets.ts";
import { openSession, type TestSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

const CROWD = 200;
const MIB = 1024 * 1024;
const PATIENCE_MS = 10_000;

type Json = Readonly<Record<string, unknown>>;

export function idempotency(subject: Subject): void {
  const caller = (): Caller => new Caller(subject.url);
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);
  const at = (key: string, verb = ""): string => `/v1/idempotency/${encodeURIComponent(key)}${verb && `/${verb}`}`;
  const post = (key: string, verb: string, body: Json, headers: Record<string, string> = {}): Promise<Answer> =>
    caller().request("POST", at(key, verb), body, { headers });
  const begin = async (key: string, body: Json = {}): Promise<Answer> => {
    const answer = await post(key, "begin", body);
    if (answer.status === 201) keepSecret(answer.body.attempt);
    return answer;
  };
  const show = async (key: string): Promise<Json> => (await caller().request("GET", at(key))).body;
  /** Waits until that many wait for the key's attempt. */
  const waiting = async (key: string, count: number): Promise<void> => {
    const patientUntil = performance.now() + PATIENCE_MS;
    for (let now = await show(key); now["waiting"] !== count; now = await show(key)) {
      if (performance.now() > patientUntil) throw new Error(`${String(now["waiting"])} wait, not ${count}`);
    }
  };
  const raw = (path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<Response> =>
    fetch(subject.url + path, { method: "POST", body, headers });

  test(`of ${CROWD} begins at once one is started, and the others get its result, the same bytes`, async () => {
    const key = freshKey();
    const calls = Array.from({ length: CROWD }, () => begin(key, { fingerprint: "f", timeout: 30_000 }));
    await waiting(key, CROWD - 1);
    const winner = await Promise.race(calls);
    expect(winner.status).toBe(201);
    await post(key, "complete", { attempt: winner.body.attempt, result: { paid: 7 } });
    const answers = await Promise.all(calls);
    expect(answers.filter(({ status }) => status === 201)).toEqual([winner]);
    const others = answers.filter(({ status }) => status === 200);
    expect(others).toHaveLength(CROWD - 1);
    for (const { body, headers } of others) {
      expect(body).toEqual({ paid: 7 });
      expect(headers.get("idempotent-replayed")).toBe("true");
    }
  });

  test(`work that ${CROWD} sessions and callers want done at once is done once`, async () => {
    const key = freshKey();
    await using first = connect(subject.url);
    await using second = connect(subject.url);
    const clients = [first, second, httpClient(subject.url)];
    let runs = 0;
    const results = await Promise.all(
      Array.from({ length: CROWD }, (_, i) =>
        clients[i % clients.length]!.idempotent(key, { fingerprint: "f", timeout: 30_000 }, async ({ number }) => {
          runs += 1;
          return { run: runs, number };
        }),
      ),
    );
    expect(runs).toBe(1);
    expect(new Set(results.map((result) => JSON.stringify(result)))).toEqual(new Set(['{"run":1,"number":1}']));
  });

  test("a first owner that comes back late is refused, and the second's result stands", async () => {
    const key = freshKey();
    const client = httpClient(subject.url);
    const first = await client.idempotency.begin(key, { lease: 200 });
    const second = await client.idempotency.begin(key, { timeout: 10_000 });
    if (first.status !== "started" || second.status !== "started") throw new Error("not started");
    expect(second.number).toBe(2);
    await expect(client.idempotency.complete(key, first.attempt, "first")).rejects.toMatchObject({
      name: AttemptLostError.name,
      reason: "superseded",
    });
    await client.idempotency.complete(key, second.attempt, "second", "text/plain");
    await expect(client.idempotency.complete(key, first.attempt, "first")).rejects.toBeInstanceOf(AttemptLostError);
    const replay = await client.idempotency.begin(key);
    expect(replay).toMatchObject({ status: "replay", contentType: "text/plain", number: 2 });
    expect(new TextDecoder().decode(replay.status === "replay" ? replay.result : undefined)).toBe("second");
  });

  test("an attempt is over the moment its session's connection breaks, and the first who waits has the next", async () => {
    const key = freshKey();
    using dying = await openSession(subject.socketUrl);
    using heir = await openSession(subject.socketUrl);
    await dying.ask({ t: "begin", key, lease: 60_000 }, "started");
    const { id } = await heir.ask({ t: "begin", key, timeout: 60_000 }, "attempt_queued");
    const brokenAt = performance.now();
    dying.terminate();
    expect(await heir.next("started", id)).toMatchObject({ number: 2 });
    figure(subject.runtime, "broken connection to the next attempt", [performance.now() - brokenAt]);
  });

  test("who waits is served in the order of arrival, sessions and callers alike", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const { body: first } = await begin(key);
    const started: string[] = [];
    const waits: Promise<unknown>[] = [];
    const join = async (name: string, wait: () => Promise<{ readonly attempt: string }>): Promise<void> => {
      waits.push(
        wait().then(({ attempt }) => {
          started.push(name);
          return post(key, "fail", { attempt });
        }),
      );
      await waiting(key, waits.length);
    };
    for (const name of ["a", "b", "c", "d"]) {
      await join(name, async () => {
        // By turns, so that neither kind can have a queue of its own.
        if (name === "a" || name === "c") return (await begin(key, { timeout: 30_000 })).body;
        const { id } = await session.ask({ t: "begin", key, timeout: 30_000 }, "attempt_queued");
        return session.next("started", id);
      });
    }
    await post(key, "fail", { attempt: first.attempt });
    await Promise.all(waits);
    expect(started).toEqual(["a", "b", "c", "d"]);
  });

  test("a key that is used with another fingerprint is refused, whether its work runs or is done", async () => {
    const key = freshKey();
    const { body } = await begin(key, { fingerprint: "guest|space|1|2" });
    const mismatch = { status: 400, body: { code: "fingerprint_mismatch", retryable: false } };
    expect(await begin(key, { fingerprint: "guest|space|1|3", timeout: 60_000 })).toMatchObject(mismatch);
    expect(await begin(key)).toMatchObject(mismatch);
    await post(key, "complete", { attempt: body.attempt, result: 1 });
    expect(await begin(key, { fingerprint: "guest|space|1|3" })).toMatchObject(mismatch);
  });

  test("any bytes come back as they went in, over HTTP and in a session", async () => {
    for (const bytes of [
      Uint8Array.from({ length: 256 }, (_, i) => i),
      new Uint8Array(),
      new TextEncoder().encode('{"é":"\\u0000"}'),
      new Uint8Array(MIB).fill(0xff),
    ]) {
      const key = freshKey();
      const { body } = await begin(key);
      const headers = { "latchkey-attempt": body.attempt, "content-type": "application/x-test" };
      expect((await raw(at(key, "complete"), bytes, headers)).status).toBe(200);
      const replay = await fetch(subject.url + at(key, "begin"), { method: "POST" });
      expect(replay.headers.get("content-type")).toBe("application/x-test");
      expect(Buffer.from(await replay.arrayBuffer()).equals(bytes)).toBe(true);
      using session = await openSession(subject.socketUrl);
      const frame = await session.ask({ t: "begin", key }, "replay");
      expect(Buffer.from(frame.result, frame.encoding ?? "utf8").equals(bytes)).toBe(true);
      // It is no slow reader, however long that frame was.
      await session.status(key);
    }
  });

  test("a result of a mebibyte is stored, one byte more is 413, and nothing of it", async () => {
    const key = freshKey();
    const { body } = await begin(key);
    const headers = { "latchkey-attempt": body.attempt };
    expect((await raw(at(key, "complete"), new Uint8Array(MIB + 1), headers)).status).toBe(413);
    expect(await show(key)).toMatchObject({ status: "running" });
    expect((await raw(at(key, "complete"), new Uint8Array(MIB), headers)).status).toBe(200);
    expect(await show(key)).toMatchObject({ status: "done", bytes: MIB });
  });

  test("the same result again is fine, another one is refused, and what is stored stays", async () => {
    const key = freshKey();
    const { body } = await begin(key);
    const complete = (result: unknown): Promise<Answer> => post(key, "complete", { attempt: body.attempt, result });
    expect((await complete({ a: 1 })).body).toEqual({ status: "completed" });
    expect((await complete({ a: 1 })).body).toEqual({ status: "completed", already: true });
    expect(await complete({ a: 2 })).toMatchObject({ status: 409, body: { code: "result_mismatch" } });
    expect((await begin(key)).body).toEqual({ a: 1 });
  });

  test("a repeated begin has the attempt it had, and five at once are one", async () => {
    const key = freshKey();
    const answers = await Promise.all(Array.from({ length: 5 }, () => begin(key, { request_id: "r" })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.attempt}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(201);
    expect(await begin(key, { request_id: "r", lease: 1000 })).toMatchObject({ status: 422 });
  });

  const testHangUp = subject.runtime.seesHangUps ? test : () => undefined;
  testHangUp("a caller that hangs up while it waits leaves the queue at once", async () => {
    const key = freshKey();
    await begin(key);
    const stop = new AbortController();
    const gone = caller().request("POST", at(key, "begin"), { timeout: 60_000 }, { signal: stop.signal });
    await waiting(key, 1);
    const stoppedAt = performance.now();
    stop.abort();
    await expect(gone).rejects.toHaveProperty("name", "AbortError");
    await waiting(key, 0);
    figure(subject.runtime, "hang-up of a begin to an empty queue", [performance.now() - stoppedAt]);
  });

  test("a caller that died while it waited has no attempt for long", async () => {
    const key = freshKey();
    const { body } = await begin(key, { lease: 60_000 });
    const stop = new AbortController();
    const gone = caller().request(
      "POST",
      at(key, "begin"),
      { timeout: 60_000, lease: 60_000 },
      { signal: stop.signal },
    );
    await waiting(key, 1);
    stop.abort();
    await expect(gone).rejects.toHaveProperty("name", "AbortError");
    const next = begin(key, { timeout: 30_000 });
    await post(key, "fail", { attempt: body.attempt });
    expect((await next).status).toBe(201);
  });

  test("forget removes a record, and its session hears that its attempt is over", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    const { id, attempt } = await session.ask({ t: "begin", key, fingerprint: "f" }, "started");
    expect((await caller().request("DELETE", at(key))).body).toEqual({ status: "forgotten", existed: true });
    expect(await session.next("attempt_lost", id)).toMatchObject({ key, reason: "forgotten" });
    expect((await begin(key, { fingerprint: "g" })).body.number).toBe(1);
    expect(await fail(session, key, attempt)).toMatchObject({ reason: "superseded" });
  });

  test("a record that says how long it lives is gone after that", calm.options, async () => {
    const key = freshKey();
    const { body } = await begin(key, { ttl: 1000 });
    await post(key, "complete", { attempt: body.attempt, result: 1 });
    expect((await begin(key)).status).toBe(200);
    const patientUntil = performance.now() + PATIENCE_MS;
    while ((await show(key))["status"] === "done" && performance.now() < patientUntil);
    expect((await begin(key)).body).toMatchObject({ status: "started", number: 1 });
  });
}

function fail(session: TestSocket, key: string, attempt: string): Promise<unknown> {
  return session.ask({ t: "fail", key, attempt }, "attempt_lost");
}
