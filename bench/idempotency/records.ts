/** Very many finished records: whether a begin feels them, and whether anybody feels that the expired ones are swept. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordImage } from "../../src/core/index.ts";
import type { IdempotencyCalls } from "../../src/client/index.ts";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";
import { createCore } from "../../src/latchkey.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { quantile } from "../figures.ts";
import { Stopwatch } from "./stopwatch.ts";
import { print, type Subject, takeTurns } from "./turns.ts";

const ROUNDS = 41;
const OPERATIONS = 100;
const BATCH = 1000;
const TTL_MS = 24 * 60 * 60 * 1000;
/** As the host calls it. */
const SWEPT_MAX = 64;
/** A pause above this could be noticed. */
const PAUSE_MAX_MS = 5;
const SLOWER_MAX = 2;

type Open = (path: string) => Store;

export async function recordCosts(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  const { openSqlite } =
    "Bun" in globalThis
      ? await import("../../src/stores/bun-sqlite.ts")
      : await import("../../src/stores/node-sqlite.ts");
  const open: Open = (path) => openSqlite(join(folder, path), { clock: systemClock });
  try {
    await compare("in memory", () => createMemoryStore(systemClock), count);
    await compare("in SQLite", open, count);
    const memory = createMemoryStore(systemClock);
    await sweep("in memory", memory, () => memory, count);
    // Opened anew, so that what the filling has left in the log is in the file.
    await sweep("in SQLite", open("sweep.db"), () => open("sweep.db"), count);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function compare(where: string, open: Open, count: number): Promise<void> {
  const full = open("full.db");
  await fill(full, count);
  const cores = [open("empty.db"), full].map((store) => createCore({ db: "given" }, () => store));
  const [empty, filled] = cores.map(({ embedded }) => embedded.locks.idempotency) as [
    IdempotencyCalls,
    IdempotencyCalls,
  ];
  const known = (): string => keyOf(Math.floor(Math.random() * count));
  const subjects: readonly Subject[] = [
    { name: "begin + complete, no records yet", run: () => pair(empty) },
    { name: `begin + complete beside ${inWords(count)} finished records`, run: () => pair(filled) },
    { name: "begin of one of them: its result", run: () => filled.begin(known(), { fingerprint: "a" }) },
  ];
  const timed = await takeTurns(subjects, ROUNDS, OPERATIONS);
  print(`${inWords(count)} finished records ${where}`, timed);
  verdict(`at most ${SLOWER_MAX} times slower`, (timed[1]?.cpuRatio ?? Number.NaN) <= SLOWER_MAX);
  for (const { close } of cores) await close();
}

/** Every record has expired; the pauses are those of the calls that the host makes one by one. */
async function sweep(where: string, filling: Store, reopen: () => Store, count: number): Promise<void> {
  await fill(filling, count);
  await filling.close();
  const store = reopen();
  await store.load("default");
  await collectGarbage();
  const later = systemClock.now() + 2 * TTL_MS;
  const pauses: number[] = [];
  let workedMax = 0;
  const begun = performance.now();
  for (let next = later; next <= later;) {
    const watch = new Stopwatch();
    next = store.sweep(later, SWEPT_MAX);
    const { paused, worked } = watch.read();
    pauses.push(paused);
    workedMax = Math.max(workedMax, worked);
  }
  const seconds = (performance.now() - begun) / 1000;
  if (store.find("default", keyOf(0)) !== undefined) throw new Error("a record was left");
  await store.close();
  const over = pauses.filter((pause) => pause > PAUSE_MAX_MS).length;
  const [half, most, longest] = [0.5, 0.999, 1].map((share) => quantile(pauses, share).toFixed(2));
  console.log(
    `\n  ${inWords(count)} expired records ${where}, swept in ${seconds.toFixed(1)} s by ${pauses.length} calls`,
  );
  console.log(
    `    a call: median ${half} ms, 99.9 % within ${most} ms, longest ${longest} ms, ${over} over ${PAUSE_MAX_MS} ms;` +
      ` without waiting for the disk or other threads at most ${workedMax.toFixed(2)} ms`,
  );
  verdict(`no pause over ${PAUSE_MAX_MS} ms`, over === 0);
}

/** What the filling has left is not the sweep's to carry away. */
async function collectGarbage(): Promise<void> {
  if ("Bun" in globalThis) return Bun.gc(true);
  const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import("node:v8"), import("node:vm")]);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("globalThis.gc") as (() => void) | undefined;
  collect?.();
}

async function fill(store: Store, count: number): Promise<void> {
  await store.load("default");
  for (let first = 0; first < count; first += BATCH) {
    const changeCount = Math.min(BATCH, count - first);
    const changes = Array.from({ length: changeCount }, (_, i) => ({
      kind: "record" as const,
      record: recordOf(first + i),
    }));
    await store.commit("default", { changes, changeCount });
  }
}

function recordOf(index: number): RecordImage {
  const now = systemClock.now();
  return {
    key: keyOf(index),
    fingerprint: "a",
    state: "done",
    attempts: 1,
    attempt: `attempt-of-some-length-${index}`,
    ttlMs: TTL_MS,
    startedAt: now,
    expiresAt: now + TTL_MS,
    run: undefined,
    lostBy: undefined,
    result: RESULT,
    contentType: "application/json",
  };
}

const RESULT: Uint8Array = new TextEncoder().encode(JSON.stringify({ booking: "a".repeat(80) }));

/** In no order, as random keys are, and the same in each run. */
function keyOf(index: number): string {
  return `http/${Math.imul(index + 1, 0x9e3779b1) >>> 0}-${index}`;
}

async function pair(calls: IdempotencyCalls): Promise<void> {
  const key = crypto.randomUUID();
  const begun = await calls.begin(key, { fingerprint: "a" });
  if (begun.status !== "started") throw new Error("the key is not new");
  await calls.complete(key, begun.attempt, RESULT, "application/json");
}

function inWords(count: number): string {
  return count.toLocaleString("en").replaceAll(",", " ");
}

function verdict(rule: string, holds: boolean): void {
  console.log(`    ${holds ? "holds" : "DOES NOT HOLD"}: ${rule}`);
}
