/**
 * What Cloudflare bills, counted: rows written (a row each for an insert, an update, a delete and a set alarm), requests (a call of the
 * object, an alarm, twenty inbound frames) and nothing for what the runtime answers by itself. The README's table has these numbers.
 */

import { env } from "cloudflare:workers";
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { latchkey } from "../../../runtimes/workers.ts";
import { type Session, World } from "./world.ts";

const PAIRS = 20;

interface Counts {
  rows: number;
  alarmsSet: number;
  alarmsRun: number;
}

interface Sql {
  exec: (this: Sql, ...args: unknown[]) => { readonly rowsWritten: number; toArray(): unknown[] };
}

interface Storage {
  setAlarm: (this: Storage, at: number) => Promise<void>;
}

let counts: Counts;
let undo: () => void = () => {};
let offsetMs = 0;

beforeEach(() => {
  counts = { rows: 0, alarmsSet: 0, alarmsRun: 0 };
  const realNow = Date.now;
  offsetMs = 0;
  Date.now = () => realNow() + offsetMs;
  undo = () => {
    Date.now = realNow;
  };
});

afterEach(() => undo());

/** Counts in every object of this isolate, also in those that are woken later. */
async function count(world: World): Promise<void> {
  await world.inside((ctx) => {
    const sql = Object.getPrototypeOf(ctx.storage.sql) as Sql;
    const storage = Object.getPrototypeOf(ctx.storage) as Storage;
    const { exec } = sql;
    const { setAlarm } = storage;
    sql.exec = function (...args) {
      const cursor = exec.apply(this, args);
      const rows = cursor.toArray();
      counts.rows += cursor.rowsWritten;
      cursor.toArray = () => rows;
      return cursor;
    };
    storage.setAlarm = function (at) {
      counts.alarmsSet += 1;
      return setAlarm.call(this, at);
    };
    const before = undo;
    undo = () => {
      sql.exec = exec;
      storage.setAlarm = setAlarm;
      before();
    };
  });
}

/** Time goes on, and every alarm that is due by then goes off. */
async function pass(world: World, ms: number): Promise<void> {
  const until = offsetMs + ms;
  while (offsetMs < until) {
    offsetMs += Math.min(10_000, until - offsetMs);
    const at = await world.inside((ctx) => ctx.storage.getAlarm());
    if (at === null || at > Date.now()) continue;
    await runDurableObjectAlarm(world.object);
    counts.alarmsRun += 1;
  }
}

async function pair(session: Session, key: string): Promise<void> {
  await session.release(await session.acquire(key));
}

async function callPair(world: World, key: string, between = async (): Promise<void> => {}): Promise<void> {
  const { body } = await world.call(`${key}/acquire`, { ttl: 30_000 });
  await between();
  await world.call(`${key}/release`, { token: body["token"] });
  await between();
}

test("a lock and its release in a session: two rows now, and one when it is forgotten", async () => {
  const world = new World();
  const session = await world.open();
  await pair(session, "warm");
  await count(world);
  for (let i = 0; i < PAIRS; i++) await pair(session, `k${i}`);
  expect(counts).toEqual({ rows: 2 * PAIRS, alarmsSet: 0, alarmsRun: 0 });
  session.send({ t: "bye" });
  await session.closed;
  const { rows } = counts;
  await pass(world, 200_000);
  // All together: one more is the pair that warmed up, and the session is one as well.
  expect(counts.rows - rows).toBeLessThanOrEqual(PAIRS + 2);
  expect(counts.alarmsRun).toBeLessThanOrEqual(2);
  expect(await world.rows("claim")).toHaveLength(0);
});

test("a lock and its release over HTTP, in a busy space: the same three rows, and an alarm a minute for all", async () => {
  const world = new World();
  await callPair(world, "warm");
  await count(world);
  for (let i = 0; i < PAIRS; i++) await callPair(world, `k${i}`);
  expect(counts).toEqual({ rows: 2 * PAIRS, alarmsSet: 0, alarmsRun: 0 });
  await pass(world, 200_000);
  expect(counts).toEqual({ rows: 3 * PAIRS + 1, alarmsSet: 1, alarmsRun: 2 });
  expect(await world.rows("claim")).toHaveLength(0);
});

test("a lock and its release over HTTP, alone and with a sleep before each: four rows, two alarms", async () => {
  const world = new World();
  await callPair(world, "warm");
  await pass(world, 200_000);
  await count(world);
  counts.alarmsRun = 0;
  await world.sleep();
  await callPair(world, "k", () => world.sleep());
  expect(counts).toEqual({ rows: 3, alarmsSet: 1, alarmsRun: 0 });
  await pass(world, 200_000);
  expect(counts).toEqual({ rows: 4, alarmsSet: 2, alarmsRun: 2 });
});

test("asking after a key in an object that was never used writes nothing, and its first lock makes the tables", async () => {
  const other = new World();
  await other.call("a");
  await count(other);
  const world = new World();
  await world.call("a");
  await world.call("a/acquire", { token: "unknown" });
  expect(counts).toEqual({ rows: 0, alarmsSet: 0, alarmsRun: 0 });
  await callPair(world, "k");
  expect(counts).toEqual({ rows: 11, alarmsSet: 1, alarmsRun: 0 });
});

test("an idle space: one alarm a ping, however many sessions, and no row but the alarm's", async () => {
  const world = new World();
  const session = await world.open();
  await session.acquire("a");
  await world.open();
  await world.open();
  await session.nextBare("ping");
  await count(world);
  for (let pings = 0; pings < 4; pings++) await session.nextBare("ping");
  expect(counts).toEqual({ rows: 0, alarmsSet: 4, alarmsRun: 0 });
});

test("a session's beginning and end: three rows in all", async () => {
  const world = new World();
  await callPair(world, "warm");
  await count(world);
  const session = await world.open();
  session.send({ t: "bye" });
  await session.closed;
  expect(counts.rows).toBe(3);
  expect(counts.alarmsSet).toBeLessThanOrEqual(2);
});

test("idempotent work over HTTP: four rows now, a replay writes none, and one row and an alarm for all a day later", async () => {
  const world = new World();
  const { idempotency } = latchkey(env).locks(world.space);
  const run = async (key: string): Promise<void> => {
    const begun = await idempotency.begin(key);
    if (begun.status !== "started") throw new Error("not started");
    await idempotency.complete(key, begun.attempt, "{}");
  };
  await run("warm");
  await count(world);
  for (let i = 0; i < PAIRS; i++) await run(`k${i}`);
  await idempotency.begin("k0");
  expect(counts).toEqual({ rows: 4 * PAIRS, alarmsSet: 0, alarmsRun: 0 });
  offsetMs += 24 * 3_600_000;
  await pass(world, 70_000);
  expect(await world.rows("record")).toEqual([]);
  expect(counts.rows).toBe(4 * PAIRS + PAIRS + 1);
  expect(counts.alarmsRun).toBeLessThanOrEqual(2);
});
