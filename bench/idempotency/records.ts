/** Very many finished records: whether a begin feels them, and whether anybody feels that the expired ones are swept. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IdempotencyCalls } from "../../src/client/idempotency.ts";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";
import { createCore } from "../../src/latchkey.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { controls } from "./control.ts";
import { fill, keyOf, RESULT } from "./filling.ts";
import { sweep } from "./sweep.ts";
import { print, type Subject, takeTurns } from "./turns.ts";
import { inWords, verdict } from "./words.ts";

const ROUNDS = 41;
const OPERATIONS = 100;
const SLOWER_MAX = 2;

type Open = (path: string) => Store;

/** Beside a store without records. */
export function besideRecords(count: number): Promise<void> {
  return withStores(async (open) => {
    await compare("in memory", () => createMemoryStore(systemClock), count);
    await compare("in SQLite", open, count);
  });
}

export function sweeps(count: number): Promise<void> {
  return withStores(async (open, folder) => {
    const memory = createMemoryStore(systemClock);
    await sweep({ where: "in memory", filling: memory, reopen: () => memory, count, folder });
    await controls(count);
    // Opened anew, so that what the filling has left in the log is in the file.
    await sweep({ where: "in SQLite", filling: open("sweep.db"), reopen: () => open("sweep.db"), count, folder });
  });
}

async function withStores(work: (open: Open, folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  const { openSqlite } =
    "Bun" in globalThis
      ? await import("../../src/stores/bun-sqlite.ts")
      : await import("../../src/stores/node-sqlite.ts");
  const open: Open = (path) => openSqlite(join(folder, path), { clock: systemClock });
  try {
    await work(open, folder);
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

async function pair(calls: IdempotencyCalls): Promise<void> {
  const key = crypto.randomUUID();
  const begun = await calls.begin(key, { fingerprint: "a" });
  if (begun.status !== "started") throw new Error("the key is not new");
  await calls.complete(key, begun.attempt, RESULT, "application/json");
}
