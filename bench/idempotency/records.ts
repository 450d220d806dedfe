/** Very many finished records: whether a begin feels them, and whether anybody feels that the expired ones are swept. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IdempotencyCalls } from "../../src/client/idempotency.ts";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";
import { createCore } from "../../src/latchkey.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { type FileOptions, openFile } from "../../src/stores/file.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { controls } from "./control.ts";
import { fill, keyOf, RESULT } from "./filling.ts";
import { leftToSqlite } from "./left.ts";
import { type Listen, sweep } from "./sweep.ts";
import { print, type Subject, takeTurns } from "./turns.ts";
import { inWords, verdict } from "./words.ts";

const ROUNDS = 41;
const OPERATIONS = 100;
const SLOWER_MAX = 2;
const LEFT_FEWER = 10;

type Open = (path: string) => Store;

/** Beside a store without records. */
export function besideRecords(count: number): Promise<void> {
  return inFolder(async (folder) => {
    const { openSqlite } = await sqlite();
    await compare("in memory", () => createMemoryStore(systemClock), count);
    await compare("in SQLite", (path) => openSqlite(join(folder, path), { clock: systemClock }), count);
  });
}

export function sweepMemory(count: number): Promise<void> {
  return inFolder(async (folder) => {
    const memory = createMemoryStore(systemClock);
    await sweep({ where: "in memory", filling: memory, reopen: () => memory, count, folder });
    await controls(count);
  });
}

export function sweepSqlite(count: number): Promise<void> {
  return inFolder(async (folder) => {
    const { connect } = await sqlite();
    const open = (listen: Listen): Store =>
      openFile(join(folder, "sweep.db"), { clock: systemClock }, (path) => listen(connect(path)));
    // Opened anew, so that what the filling has left in the log is in the file.
    await sweep({ where: "in SQLite", filling: open((driver) => driver), reopen: open, count, folder });
  });
}

/** The same without our part in it, and with fewer records. */
export function sweepLeft(count: number): Promise<void> {
  return inFolder(async (folder) => {
    const { connect, openSqlite } = await sqlite();
    const path = join(folder, "left.db");
    await sweep({
      where: "in SQLite, with its log left to SQLite alone",
      filling: openSqlite(path, { clock: systemClock }),
      reopen: (listen) => leftToSqlite(listen(connect(path)), systemClock),
      count: Math.ceil(count / LEFT_FEWER),
      folder,
      isOurs: false,
    });
  });
}

interface Sqlite {
  readonly connect: (path: string) => SqlDriver;
  readonly openSqlite: (path: string, options: FileOptions) => Store;
}

async function sqlite(): Promise<Sqlite> {
  if ("Bun" in globalThis) {
    const { bunDriver: connect, openSqlite } = await import("../../src/stores/bun-sqlite.ts");
    return { connect, openSqlite };
  }
  const { nodeDriver: connect, openSqlite } = await import("../../src/stores/node-sqlite.ts");
  return { connect, openSqlite };
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  try {
    await work(folder);
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
