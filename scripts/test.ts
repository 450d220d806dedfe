// Everything that must hold, in one run: `npm test`, or `npm test -- --only unit,lint` for some of it.
// A check counts as one passed or failed; a step that runs vitest counts its tests. Before the last line, which is the sum, stands what failed.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Counts } from "./counts-reporter.ts";
import { TEST_FOLDERS, type TestKind } from "./test-folders.ts";

interface Step {
  readonly name: string;
  /** Command lines, run one after the other until one fails. */
  readonly run: readonly string[];
  /** Set where what the command prints is worth reading each time. */
  readonly says?: boolean;
  /** Set where the command is vitest: the kind of tests, which are counted one by one. */
  readonly tests?: TestKind;
  readonly phase: Phase;
}

/**
 * `build` rewrites what others read, so nothing runs beside it. `work` is whatever a busy machine can only make slower. `wait` is about
 * connections and deadlines: they mostly wait for what takes its time by itself, and none of those that keep a core busy runs beside them.
 */
type Phase = "build" | "work" | "wait";

/** One after the other; steps at once in each. */
const PHASES: Readonly<Record<Phase, number>> = { build: 1, work: 2, wait: 2 };
const NODE_MAJOR_MIN = 24;
const STEP_TIME_MAX_MS = 420_000;
/** Of what failed so much is named at the end: all that matters is near it. */
const FAILED_LINES_MAX = 20;
const FAILED_LINE_CHARS_MAX = 400;

/** What takes longest comes first, so that the lanes end together; before the other long ones what fails soonest. */
const steps: readonly Step[] = [
  { name: "package", run: ["npm run check:package"], phase: "build" },
  { name: "simulation", run: [vitest("node", "simulation")], tests: "simulation", phase: "work" },
  { name: "typecheck", run: ["tsc -p tsconfig.json", "tsc -p tsconfig.browser.json"], phase: "work" },
  { name: "core", run: ["tsc -p tsconfig.core.json"], phase: "work" },
  { name: "client", run: ["tsc -p tsconfig.client.json"], phase: "work" },
  { name: "deno-check", run: ["deno check --cached-only runtimes/deno.ts"], phase: "work" },
  { name: "lint", run: ["oxlint"], phase: "work" },
  { name: "layers", run: ["node scripts/check-layers.ts"], phase: "work" },
  { name: "format", run: ["oxfmt --check"], phase: "work" },
  { name: "knip", run: ["knip --no-progress"], phase: "work" },
  { name: "client-size", run: ["node scripts/client-size.ts"], phase: "work", says: true },
  // Counts and violations, never times: whether a benchmark still measures what it says.
  { name: "bench", run: ["node bench/main.ts --quick"], phase: "work" },
  { name: "fleet", run: [vitest("node", "fleet")], tests: "fleet", phase: "work" },
  { name: "docs", run: [vitest("node", "docs")], tests: "docs", phase: "work" },
  { name: "unit", run: [vitest("node", "unit")], tests: "unit", phase: "work" },
  { name: "unit-bun", run: [vitest("bun --bun", "unit")], tests: "unit", phase: "work" },
  { name: "unit-deno", run: [vitest("deno run -A --cached-only", "unit")], tests: "unit", phase: "work" },
  { name: "processes", run: [vitest("node", "processes")], tests: "processes", phase: "work" },
  { name: "conformance", run: [vitest("node", "conformance")], tests: "conformance", phase: "wait" },
  {
    name: "fleet-servers",
    run: [`${vitest("node", "fleet-servers")} --maxWorkers=2`],
    tests: "fleet-servers",
    phase: "wait",
  },
  { name: "browser", run: [`${vitest("node", "browser")} --maxWorkers=2`], tests: "browser", phase: "wait" },
  { name: "workers", run: [vitest("node", "workers")], tests: "workers", phase: "wait" },
  {
    name: "workers-inside",
    run: [vitest("node", "workers-inside", "vitest.workers.config.ts")],
    tests: "workers-inside",
    phase: "wait",
  },
];

const root = fileURLToPath(new URL("..", import.meta.url));
const temporary = mkdtempSync(join(tmpdir(), "latchkey-test-"));
const running = new Set<number>();
const total = { passed: 0, failed: [] as string[], skipped: [] as string[] };

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const pid of running) killGroup(pid);
    process.exit(1);
  });
}

guard();
const chosen = choose();
for (const [phase, lanes] of Object.entries(PHASES)) {
  await runAll(
    chosen.filter((step) => step.phase === phase),
    lanes,
  );
}
rmSync(temporary, { recursive: true });
report();

/** npm puts node_modules/.bin first, so an older node here means that the pinned one was not installed. */
function guard(): void {
  const recent = Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN;
  console.log(`${recent ? "ok  " : "FAIL"} guard: node ${process.version}, needed ${NODE_MAJOR_MIN} or later`);
  if (recent) total.passed += 1;
  else total.failed.push(`guard: node ${process.version}`);
}

function choose(): readonly Step[] {
  const { only } = parseArgs({ options: { only: { type: "string" } } }).values;
  if (only === undefined) return steps;
  return only.split(",").map((name) => {
    const step = steps.find((candidate) => candidate.name === name);
    if (step !== undefined) return step;
    console.error(`There is no step "${name}". The steps: ${steps.map((known) => known.name).join(", ")}`);
    process.exit(2);
  });
}

async function runAll(waiting: readonly Step[], lanes: number): Promise<void> {
  const queue = waiting.values();
  const lane = async (): Promise<void> => {
    for (const step of queue) await runStep(step);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function runStep(step: Step): Promise<void> {
  const startedAt = performance.now();
  const countsFile = join(temporary, `${step.name}.json`);
  const missing = step.tests ? missingFolders(step.tests) : [];
  let output = missing.map((folder) => `there is no ${folder}\n`).join("");
  let succeeded = missing.length === 0;
  for (const line of step.run) {
    const result = await execute(line, { COUNTS_FILE: countsFile });
    output += `$ ${line}\n${result.output}`;
    succeeded &&= result.code === 0;
    if (result.code !== 0) break;
  }

  const counts = step.tests ? readCounts(countsFile) : { passed: succeeded ? 1 : 0, failed: [], skipped: [] };
  // A run that broke without a failing test, or that found no test at all, must not look like a good one.
  const isBroken = counts.failed.length === 0 && (!succeeded || counts.passed + counts.skipped.length === 0);
  const failed = isBroken ? [output.trimEnd().split("\n").at(-1) ?? ""] : counts.failed;
  total.passed += counts.passed;
  total.failed.push(...failed.map((line) => `${step.name}: ${line}`));
  total.skipped.push(...counts.skipped.map((name) => `${step.name}: ${name}`));

  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const tests = step.tests ? `: ${tally(counts.passed, failed.length, counts.skipped.length)}` : "";
  console.log(`${failed.length === 0 ? "ok  " : "FAIL"} ${step.name}${tests} (${seconds} s)`);
  if (failed.length > 0 || step.says === true) console.log(output.trimEnd());
}

function execute(line: string, variables: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const [program = "", ...args] = line.split(" ");
  const env = {
    ...process.env,
    ...variables,
    PATH: [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
    // Hundreds of servers are started on Node, each of which would compile the same sources anew.
    NODE_COMPILE_CACHE: join(temporary, "compiled"),
    // Wrangler would look for its maker's servers, and say that it found none.
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_SEND_METRICS: "false",
  };
  return new Promise((resolve, reject) => {
    // A group of its own: whatever a step has started ends with it, so that nothing hangs on a forgotten server.
    const child = spawn(program, args, { cwd: root, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const pid = child.pid;
    let output = "";
    const append = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", append);
    child.stderr.on("data", append);
    child.once("error", reject);
    if (pid === undefined) return;

    running.add(pid);
    const timer = setTimeout(() => {
      output += `\nstopped after ${STEP_TIME_MAX_MS / 1000} s\n`;
      killGroup(pid);
    }, STEP_TIME_MAX_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      killGroup(pid);
      running.delete(pid);
    });
    child.once("close", (code) => resolve({ code, output }));
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is already empty, which is what was wanted.
  }
}

function vitest(runtime: string, project: string, config = "vitest.config.ts"): string {
  return `${runtime} node_modules/vitest/vitest.mjs run --config ${config} --project ${project} --reporter=default --reporter=./scripts/counts-reporter.ts`;
}

/** Vitest is content when one of several folders holds tests; a suite that was lost must not go unnoticed. */
function missingFolders(kind: TestKind): string[] {
  return TEST_FOLDERS[kind].map((folder) => `test/${folder}`).filter((folder) => !existsSync(join(root, folder)));
}

function readCounts(path: string): Counts {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Counts;
  } catch {
    return { passed: 0, failed: [], skipped: [] };
  }
}

function report(): void {
  for (const name of total.skipped) console.log(`skipped ${name}`);
  const mustRunAll = Boolean(process.env["CI"]) && total.skipped.length > 0;
  if (mustRunAll) console.log("In CI a skipped test is a failure.");
  const { length } = total.failed;
  if (length > 0 || mustRunAll) process.exitCode = 1;
  for (const line of total.failed.slice(0, FAILED_LINES_MAX)) {
    console.log(`failed: ${line.slice(0, FAILED_LINE_CHARS_MAX)}`);
  }
  if (length > FAILED_LINES_MAX) console.log(`failed: and ${length - FAILED_LINES_MAX} more`);
  console.log(tally(total.passed, length, total.skipped.length));
}

function tally(passed: number, failed: number, skipped: number): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
