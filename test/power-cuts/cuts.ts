/** Cuts the power after each of a traced process's calls, and opens what is left. */

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeDriver } from "../../src/stores/node-sqlite.ts";
import { Random } from "../simulation/random.ts";
import { type Choose, DiskFile } from "./disk.ts";
import { type Done, read, record } from "./trace.ts";

export type Runtime = "node" | "bun" | "deno";

export interface Traced {
  readonly folder: string;
  /** Of the process: `node`, `bun` or `deno`. */
  readonly runtime: Runtime;
  readonly sync: "normal" | "full";
  /** Whether it has the log carried over in slices; else when sweeps have filled it. */
  readonly isSliced: boolean;
  readonly seed: number;
  /** Planted in its sources. */
  readonly bug?: Bug;
}

export interface Bug extends Edit {
  readonly name: string;
}

/** Of a file in `src/stores`. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A short log and small slices, so that a short run has many of them. */
const SLICED: readonly Edit[] = [
  { file: "slices.ts", from: "SLICE_PAGES = 256;", to: "SLICE_PAGES = 24;" },
  { file: "carry-over.ts", from: "LOG_PAGES = 8000;", to: "LOG_PAGES = 240;" },
  { file: "carry-over.ts", from: "ASKED_PAGES = 32;", to: "ASKED_PAGES = 8;" },
  { file: "carry-over.ts", from: "WAITING_PAGES_MAX = 768;", to: "WAITING_PAGES_MAX = 96;" },
];
const NOT_SLICED: readonly Edit[] = [
  { file: "file.ts", from: "tellsPages(driver) ? openViewed(real, connect) : undefined", to: "undefined" },
];

/** The calls of a process that serves, sweeps and ends. */
export async function trace({ folder, runtime, sync, isSliced, seed, bug }: Traced): Promise<Done[]> {
  const sources = sourcesWith(folder, [...(isSliced ? SLICED : NOT_SLICED), ...(bug ? [bug] : [])]);
  const script = fileURLToPath(new URL("./served.ts", import.meta.url));
  const program = fileURLToPath(new URL(`../../node_modules/.bin/${runtime}`, import.meta.url));
  const run = runtime === "deno" ? [program, "run", "-A", "--cached-only", "--no-remote"] : [program];
  const output = join(folder, "calls");
  await record([...run, script, sources, join(folder, "served.db"), sync, String(seed)], output);
  return Array.fromAsync(read(output));
}

function sourcesWith(folder: string, edits: readonly Edit[]): string {
  const copy = join(folder, "src");
  cpSync(fileURLToPath(new URL("../../src", import.meta.url)), copy, { recursive: true });
  for (const { file, from, to } of edits) {
    const path = join(copy, "stores", file);
    const text = readFileSync(path, "utf8");
    if (text.split(from).length !== 2) throw new Error(`there is not one place in ${file} for: ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  return copy;
}

/** The flushes that the thread which serves has waited for while it swept. */
export function waitedFor(calls: readonly Done[]): readonly string[] {
  const [begun, swept] = ["begun", "swept"].map((line) =>
    calls.findIndex((call) => call.kind === "said" && call.line === line),
  );
  const says = calls[swept ?? -1];
  if (says?.kind !== "said") throw new Error("it has not ended");
  return calls
    .slice(begun, swept)
    .flatMap((call) => (call.kind === "flush begun" && call.thread === says.thread ? [basename(call.file)] : []));
}

export interface Cuts {
  readonly folder: string;
  readonly sync: "normal" | "full";
  readonly seed: number;
  /** Of the calls that write, so many are followed by a cut. */
  readonly every: number;
}

/** What is wrong with what one of them leaves; undefined: all is well. And how many there were. */
export function cutPower(
  calls: readonly Done[],
  cuts: Cuts,
): { readonly wrong: string | undefined; readonly count: number } {
  const random = new Random(cuts.seed);
  const files = new Map([
    ["served.db", new DiskFile()],
    ["served.db-wal", new DiskFile()],
  ]);
  const flushes = new Map<string, number>();
  let hasBegun = false;
  let told = 0;
  let count = 0;
  for (const [index, call] of calls.entries()) {
    const file = call.kind === "said" ? undefined : files.get(basename(call.file));
    if (call.kind === "said") {
      if (call.line === "begun") hasBegun = true;
      else if (call.line !== "swept") told = Number(call.line);
    } else if (file !== undefined) {
      happen(call, file, flushes);
    }
    if (file === undefined || !hasBegun || !random.chance(1 / cuts.every)) continue;
    count += 1;
    const wrong = look(
      cuts,
      [...files.values()].map((one) => one.cut(chooser(random))),
      told,
    );
    if (wrong !== undefined) return { wrong: `${wrong}, after call ${index} of ${calls.length}`, count };
  }
  return { wrong: undefined, count };
}

function happen(call: Done, file: DiskFile, flushes: Map<string, number>): void {
  switch (call.kind) {
    case "write":
      return file.write(call.at, call.bytes);
    case "length":
      return file.truncate(call.length);
    case "removed":
      return file.remove();
    case "flush begun":
      return void flushes.set(call.thread, file.step);
    case "flushed":
      return file.flushed(flushes.get(call.thread) ?? 0);
    case "said":
  }
}

/** What was not flushed is lost, or all there, or partly so, more or less of it. */
function chooser(random: Random): Choose {
  const kind = random.between(0, 5);
  if (kind === 0) return () => 0;
  if (kind === 1) return (count) => count - 1;
  if (kind === 2) return (count) => random.between(0, count - 1);
  const lost = random.pick([0.02, 0.5, 0.98]);
  return (count) => (random.chance(lost) ? 0 : count - 1);
}

function look({ folder, sync }: Cuts, found: readonly Buffer[], told: number): string | undefined {
  const left = join(folder, "left");
  rmSync(left, { recursive: true, force: true });
  mkdirSync(left);
  const path = join(left, "served.db");
  for (const [index, name] of [path, `${path}-wal`].entries()) {
    const bytes = found[index];
    if (bytes !== undefined && bytes.length > 0) writeFileSync(name, bytes);
  }
  const sql = nodeDriver(path);
  try {
    sql.exec("PRAGMA synchronous = OFF");
    return judge((query) => sql.prepare(query).all(), sync, told);
  } catch (error) {
    return String(error);
  } finally {
    sql.close();
  }
}

type Query = (sql: string) => readonly Readonly<Record<string, unknown>>[];

function judge(query: Query, sync: "normal" | "full", told: number): string | undefined {
  const integrity = query("PRAGMA integrity_check")
    .flatMap((row) => Object.values(row))
    .join();
  if (integrity !== "ok") return `the file is damaged: ${integrity.slice(0, 100)}`;
  const tickets = query("SELECT ticket FROM claim ORDER BY ticket").map(({ ticket }) => Number(ticket));
  const live = query(`SELECT key FROM record WHERE key LIKE '"% live"'`).length;
  if (live * 2 !== tickets.length) return `a commit is torn: ${live} records and ${tickets.length} claims`;
  if (tickets.some((ticket, index) => ticket !== index + 2)) return `a commit is missing among ${tickets.join()}`;
  if (sync === "full" && live < told) return `${told} commits were told, ${live} are there`;
  const [rows] = query("SELECT count(*) AS count FROM record WHERE length(result) <> 400 OR NOT json_valid(record)");
  if (rows?.["count"] !== 0) return `${String(rows?.["count"])} records are torn`;
  const kept = query(`SELECT key FROM record WHERE key LIKE '"% kept"'`).length;
  return kept === 150 ? undefined : `${kept} of 150 records that have not expired`;
}
