import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Mutant } from "./mutant.ts";
import { ASKING_MUTANTS } from "./asking.ts";
import { OWNERSHIP_MUTANTS } from "./ownership.ts";
import { QUEUE_MUTANTS } from "./queue.ts";
import { RECORD_MUTANTS } from "./records.ts";
import { SESSION_MUTANTS } from "./sessions.ts";
import { TIME_MUTANTS } from "./time.ts";
import { WATCH_MUTANTS } from "./watch.ts";

export const MUTANTS: readonly Mutant[] = [
  ...TIME_MUTANTS,
  ...WATCH_MUTANTS,
  ...QUEUE_MUTANTS,
  ...OWNERSHIP_MUTANTS,
  ...SESSION_MUTANTS,
  ...RECORD_MUTANTS,
  ...ASKING_MUTANTS,
];

const SIMULATION = join(import.meta.dirname, "..");
const CORE = join(SIMULATION, "../../src/core");
const RUN = ["--seeds", "400", "--steps", "1500"];
const RUN_TIME_MAX_MS = 120_000;

/** Throws when the code that a mutant wants to change is not there, or not once: the list is stale. */
export function checkMutant({ bug, file, find }: Mutant): void {
  const count = readFileSync(join(CORE, file), "utf8").split(find).length - 1;
  if (count !== 1) throw new Error(`"${bug}": its text occurs ${count} times in ${file}, not once:\n${find}`);
}

/**
 * Runs the simulation against a copy of the core with that bug. Returns the seed, the step and what was noticed, or undefined
 * when nothing was. `auditor` leaves the model out. Without a mutant the core is judged as it is.
 */
export async function judgeMutant(mutant: Mutant | undefined, judge: "both" | "auditor"): Promise<string | undefined> {
  if (mutant !== undefined) checkMutant(mutant);
  const root = mkdtempSync(join(tmpdir(), "latchkey-mutant-"));
  try {
    // Without this the copies would not be known to be modules.
    writeFileSync(join(root, "package.json"), `{ "type": "module" }`);
    mkdirSync(join(root, "src"));
    cpSync(CORE, join(root, "src/core"), { recursive: true });
    cpSync(SIMULATION, join(root, "test/simulation"), { recursive: true });
    if (mutant !== undefined) plant(mutant, root);
    return await simulate(root, judge === "both" ? RUN : [...RUN, "--audit-only"]);
  } finally {
    rmSync(root, { recursive: true });
  }
}

function plant({ file, find, replace }: Mutant, root: string): void {
  const path = join(root, "src/core", file);
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(find, () => replace),
  );
}

function simulate(root: string, args: readonly string[]): Promise<string | undefined> {
  const script = join(root, "test/simulation/run.ts");
  const { SEED: _seed, ...env } = process.env;
  const options = { env, maxBuffer: 1 << 26, timeout: RUN_TIME_MAX_MS };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, ...args], options, (error, _stdout, stderr) => {
      if (error === null) return resolve(undefined);
      const line = stderr.split("\n")[0] ?? "";
      if (line.startsWith("seed ")) resolve(line);
      else
        reject(new Error(`the changed core ${error.killed ? "does not come to an end" : "does not run"}:\n${stderr}`));
    });
  });
}
