import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { LatchkeyError } from "../../src/client/index.ts";
import { httpClient } from "../../src/client/http.ts";
import { connect } from "../../src/client/idempotency.ts";
import { Random } from "../simulation/random.ts";
import { Caller, type Answer } from "./caller.ts";
import { RUNTIMES, workers } from "./runtimes.ts";
import { type Server, startServer, temporaryFolder } from "./server.ts";
import { openSession } from "./socket.ts";

const ROUNDS = 5;
/** Each round starts a server, which takes a busy machine its time. */
const LONG = { timeout: 120_000 };
const WORKERS = 8;
const KEYS_A_ROUND = 3;
const LEASE_MS = 400;

function post(server: Server, key: string, verb: string, body: Readonly<Record<string, unknown>>): Promise<Answer> {
  return new Caller(server.url).request("POST", `/v1/idempotency/${key}/${verb}`, body);
}

describe.each([...RUNTIMES, workers])("on $name", (runtime) => {
  test("what was answered about idempotent work before kill -9 is true after it", async () => {
    using folder = temporaryFolder(runtime);
    await using first = await startServer(runtime, { folder: folder.path });
    const { body: done } = await post(first, "done", "begin", { fingerprint: "f" });
    await post(first, "done", "complete", { attempt: done.attempt, result: { charged: 1 } });
    const { body: caller } = await post(first, "caller", "begin", { lease: 60_000, request_id: "r" });
    const { body: failed } = await post(first, "failed", "begin", { fingerprint: "f" });
    await post(first, "failed", "fail", { attempt: failed.attempt });
    const { body: short } = await post(first, "short", "begin", { lease: 100 });
    using session = await openSession(first.socketUrl);
    await session.ask({ t: "begin", key: "session", lease: 60_000 }, "started");

    await first.kill();
    await using second = await startServer(runtime, { folder: folder.path });
    expect((await post(second, "done", "begin", { fingerprint: "f" })).body).toEqual({ charged: 1 });
    expect((await post(second, "done", "begin", {})).body).toMatchObject({ code: "fingerprint_mismatch" });
    expect((await post(second, "done", "complete", { attempt: done.attempt, result: { charged: 1 } })).body).toEqual({
      status: "completed",
      already: true,
    });
    // The caller lives, and with it its attempt: nobody else may run the work before its lease is over.
    expect((await post(second, "caller", "begin", {})).body).toMatchObject({ code: "in_progress" });
    const again = await post(second, "caller", "begin", { lease: 60_000, request_id: "r" });
    expect(again.body).toMatchObject({ status: "started", attempt: caller.attempt, number: 1 });
    expect((await post(second, "caller", "complete", { attempt: caller.attempt, result: 2 })).status).toBe(200);
    // The session is gone, and with it its attempt: the next may begin at once.
    expect((await post(second, "session", "begin", {})).body).toMatchObject({ status: "started", number: 2 });
    expect((await post(second, "failed", "begin", { fingerprint: "g" })).body).toMatchObject({ number: 1 });
    expect((await post(second, "short", "begin", { timeout: 10_000 })).body).toMatchObject({ number: 2 });
    expect((await post(second, "short", "complete", { attempt: short.attempt, result: 1 })).status).toBe(410);
  });

  test(
    "kill -9 at any moment under load: no two run at once, and a result that was acknowledged stands",
    LONG,
    async (context) => {
      const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32));
      context.onTestFailed(() => console.log(`SEED=${seed}`));
      const random = new Random(seed);
      using folder = temporaryFolder(runtime);
      const seen: Seen = { acknowledged: new Map(), running: new Map() };
      const { acknowledged } = seen;
      for (let round = 0; round < ROUNDS; round++) {
        await using server = await startServer(runtime, { folder: folder.path });
        for (const [key, result] of acknowledged) expect((await post(server, key, "begin", {})).body).toBe(result);
        const stop = new AbortController();
        const load = Array.from({ length: WORKERS }, (_, i) => work(server, i, round, seen, stop.signal));
        await new Promise((resolve) => {
          setTimeout(resolve, random.between(50, 350));
        });
        await server.kill();
        stop.abort();
        await Promise.all(load);
      }
      expect(acknowledged.size).toBeGreaterThan(0);
    },
  );
});

interface Seen {
  /** Results by key, once the server has said that they are stored. */
  readonly acknowledged: Map<string, string>;
  /** Signals of attempts that somebody runs, by key. */
  readonly running: Map<string, Set<AbortSignal>>;
}

/** Runs what there is to run until the server is gone. Throws when two run at once, or when a result changes. */
async function work(
  server: Server,
  id: number,
  round: number,
  { acknowledged, running }: Seen,
  stop: AbortSignal,
): Promise<void> {
  await using session = connect(server.url, { signal: stop });
  const client = id % 2 === 0 ? session : httpClient(server.url);
  for (let i = 0; !stop.aborted; i++) {
    const key = `k${round}-${i % KEYS_A_ROUND}-${Math.floor(i / 20)}`;
    try {
      const begun = await client.idempotency.begin(key, { lease: LEASE_MS, timeout: 2000, signal: stop });
      if (begun.status === "replay") {
        const result = JSON.parse(new TextDecoder().decode(begun.result)) as string;
        if (acknowledged.has(key)) expect(result).toBe(acknowledged.get(key));
        continue;
      }
      // Whoever is told to start believes in it until its signal says otherwise.
      const others = running.get(key) ?? new Set<AbortSignal>();
      running.set(key, others);
      expect([...others].filter((signal) => !signal.aborted)).toEqual([]);
      others.add(begun.signal);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
      const result = `${id}-${i}`;
      // From now on another may start, although no answer has come yet.
      others.delete(begun.signal);
      if (i % 4 === 3) await client.idempotency.fail(key, begun.attempt);
      else {
        await client.idempotency.complete(key, begun.attempt, JSON.stringify(result));
        acknowledged.set(key, result);
      }
    } catch (error) {
      if (!(error instanceof LatchkeyError) && error !== stop.reason) throw error;
    }
  }
}

describe.each(RUNTIMES)("on $name", (runtime) => {
  test("a record that is damaged on disk is 503 for its key alone, and is left as it is", async () => {
    using folder = temporaryFolder(runtime);
    const path = join(folder.path, "latchkey.db");
    {
      await using server = await startServer(runtime, { folder: folder.path });
      for (const key of ["a", "b"]) {
        const { body } = await post(server, key, "begin", {});
        await post(server, key, "complete", { attempt: body.attempt, result: key });
      }
      await server.stop();
    }
    const damaged = `{"key":"a","state":"done"}`;
    const database = new DatabaseSync(path);
    database.prepare("UPDATE record SET record = ? WHERE key = ?").run(damaged, '"a"');
    database.close();

    {
      await using server = await startServer(runtime, { folder: folder.path });
      for (const verb of ["begin", "complete", "fail"]) {
        const answer = await post(server, "a", verb, { attempt: "t", result: 1 });
        expect(answer).toMatchObject({ status: 503, body: { code: "unavailable", retryable: true } });
      }
      let ran = false;
      await using client = connect(server.url);
      const refused = client.idempotent("a", {}, () => (ran = true));
      await expect(refused).rejects.toMatchObject({ code: "unavailable" });
      expect(ran).toBe(false);
      expect((await post(server, "b", "begin", {})).body).toBe("b");
      expect(server.process.output).toContain("cannot be read");
      await server.stop();
    }
    const after = new DatabaseSync(path);
    expect(after.prepare("SELECT record FROM record WHERE key = ?").get('"a"')).toMatchObject({ record: damaged });
    after.close();
  });

  test("records in memory end with the process, those in a file of their own do not", async () => {
    using folder = temporaryFolder(runtime);
    const results = async (env: Readonly<Record<string, string>>): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (let start = 0; start < 2; start++) {
        await using server = await startServer(runtime, { folder: folder.path, env });
        const { status, body } = await post(server, "k", "begin", {});
        statuses.push(status);
        if (status === 201) await post(server, "k", "complete", { attempt: body.attempt, result: 1 });
        await server.stop();
      }
      return statuses;
    };
    expect(await results({ IDEMPOTENCY_ADAPTER: "memory" })).toEqual([201, 201]);
    expect(await results({ LOCK_ADAPTER: "memory", IDEMPOTENCY_ADAPTER: "sqlite", LATCHKEY_DB: "r.db" })).toEqual([
      201, 200,
    ]);
  });
});
