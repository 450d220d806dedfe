import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../stores/drivers.ts";
import { type Bug, cutPower, trace, waitedFor } from "./cuts.ts";
import { impossible } from "./trace.ts";

/** `SEED=7 npx vitest run test/power-cuts` replays one, as far as threads can be replayed. */
const SEED = Number(process.env["SEED"] ?? 1);
/** So many writes for each cut: 1 takes some minutes. */
const EVERY = Number(process.env["EVERY"] ?? 16);
/** A planted bug is given so many. */
const RUNS = 3;
const TIMEOUT_MS = 120_000;
const BUGS: readonly Bug[] = [
  {
    name: "the log is not flushed before it is carried over",
    from: "let isFlushed = await succeeds(log.flush());",
    to: "let isFlushed = await Promise.resolve(true);",
  },
  {
    name: "what is committed meanwhile is not flushed",
    from: "if (isFlushed && this.#commitCount !== before) isFlushed = await succeeds(log.flush());",
    to: "void before;",
  },
  {
    name: "commits do not wait for the file",
    from: "    return this.#held;",
    to: "    return undefined;",
  },
  {
    name: "the file is not flushed",
    from: "await this.#flushFile(file);",
    to: "await Promise.resolve(file);",
  },
  {
    name: "the log is begun anew while its header is good",
    from: "this.#isVoid = await succeeds(log.blank(HEADER_BYTES).then(() => log.flush()));",
    to: "this.#isVoid = true;",
  },
  {
    name: "the void header is not flushed",
    from: "succeeds(log.blank(HEADER_BYTES).then(() => log.flush()))",
    to: "succeeds(log.blank(HEADER_BYTES))",
  },
  {
    name: "the header is made void before the file is flushed",
    from: "await this.#flushFile(file);",
    to: "await log.blank(HEADER_BYTES); await log.flush(); await this.#flushFile(file);",
  },
];

const reason = await impossible();

describe.skipIf(reason !== undefined)("a power cut", () => {
  test.for([
    ["node", "normal"],
    ["node", "full"],
    ["bun", "normal"],
    ["deno", "normal"],
  ] as const)(
    "at any moment of a sweep leaves a whole database: %s, sync %s",
    { timeout: TIMEOUT_MS },
    async ([runtime, sync]) => {
      const folder = temporaryFolder(onTestFinished);
      const calls = await trace({ folder, runtime, sync, seed: SEED });
      const { wrong, count } = cutPower(calls, { folder, sync, seed: SEED, every: EVERY });
      expect({ wrong, seed: SEED }).toEqual({ wrong: undefined, seed: SEED });
      expect(count).toBeGreaterThan(100);
      // A commit with sync full is one that waits for the disk.
      if (sync === "normal") expect(waitedFor(calls)).toEqual([]);
      else expect(waitedFor(calls)).not.toContain("served.db");
    },
  );

  test.for(BUGS)("shows it when $name", { timeout: TIMEOUT_MS }, async (bug) => {
    const found: (string | undefined)[] = [];
    // Threads are not to be replayed: in one run a bug may have had no occasion.
    for (let seed = SEED; found.at(-1) === undefined && seed < SEED + RUNS; seed++) {
      const folder = temporaryFolder(onTestFinished);
      const calls = await trace({ folder, runtime: "node", sync: "normal", seed, bug });
      found.push(cutPower(calls, { folder, sync: "normal", seed, every: 3 }).wrong);
    }
    expect(found.at(-1)).toBeDefined();
  });
});

if (reason !== undefined) console.log(`power cuts: not tested: ${reason}`);
