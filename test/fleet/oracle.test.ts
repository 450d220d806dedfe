import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command, Effect } from "../../src/core/index.ts";
import { type FleetAnswer, type FleetSettings, spaceKey } from "../../src/fleet/script.ts";
import { isEqual, show } from "../simulation/equal.ts";
import { drawOptions, type WorldOptions } from "../simulation/options.ts";
import { simulate } from "../simulation/world.ts";
import { hasRedisServer, type RedisServer, startRedisServer } from "./support/redis-server.ts";
import { openRunner, PREFIX, type ScriptRunner } from "./support/script-runner.ts";

const SEEDS = 200;
const STEPS = 700;
const BATCH = 20;
const WINDOW = 16;
const RECENT_MAX = 24;

/** What was asked and what the engine told. */
interface Step {
  readonly command: Command;
  readonly now: number;
  readonly effects: readonly Effect[];
}

interface Story {
  readonly startedAt: number;
  readonly steps: readonly Step[];
}

/** `SEED=7 npx vitest run test/fleet/oracle.test.ts` tells one story alone. */
const { SEED } = process.env;
const firsts = SEED === undefined ? Array.from({ length: SEEDS / BATCH }, (_, i) => 1 + i * BATCH) : [Number(SEED)];

describe.skipIf(!hasRedisServer())("the script does what the engine does", () => {
  let server: RedisServer | undefined;
  let runner: ScriptRunner;

  beforeAll(async () => {
    server = await startRedisServer();
    runner = await openRunner(server.url);
  });

  afterAll(async () => {
    // When the start failed, what was started must end all the same.
    (runner as ScriptRunner | undefined)?.close();
    await server?.stop();
  });

  it.each(firsts)(`${SEED === undefined ? BATCH : 1} seeds from %i`, async (first) => {
    for (let seed = first; seed < first + (SEED === undefined ? BATCH : 1); seed++) await replay(runner, seed);
  });
});

/** Worlds without what Redis has no counterpart of: an engine that is killed, and a store that cannot say what it has. */
function optionsOf(seed: number): WorldOptions {
  const drawn = drawOptions(seed, STEPS);
  return {
    ...drawn,
    deeds: { ...drawn.deeds, crashBeforeCommit: 0, crashBeforeDelivery: 0 },
    ledgerDeeds: { ...drawn.ledgerDeeds, crash: 0 },
    recordsMax: Infinity,
    unreadable: 0,
  };
}

function record(options: WorldOptions): Story {
  const steps: Step[] = [];
  let startedAt = 0;
  simulate(options, (command, now, effects) => {
    if (command === undefined) startedAt = now;
    else steps.push({ command, now, effects });
  });
  return { startedAt, steps };
}

async function replay(runner: ScriptRunner, seed: number): Promise<void> {
  const options = optionsOf(seed);
  const { startedAt, steps } = record(options);
  const settings: FleetSettings = {
    leaseMs: 1e12,
    serialStart: 0,
    quarantineMs: options.quarantineMs,
    limits: { ...options.limits, ...options.ledgerLimits },
  };
  let batch = 0;
  let read = 0;
  const run = async (now: number, commands: readonly Command[]): Promise<FleetAnswer> =>
    runner.run({
      ...{ space: `seed-${seed}`, process: "one", batch: ++batch, read, join: { channel: "wake" } },
      ...{ now, settings, commands },
    });

  await run(startedAt, []);
  for (let from = 0; from < steps.length; from += WINDOW) {
    // These do not wait for each other: each is told again what those before it in the window were told.
    const window = steps.slice(from, from + WINDOW);
    const answers = await Promise.all(window.map(({ command, now }) => run(now, [command])));
    for (const [i, { letters }] of answers.entries()) {
      const told = letters.filter(({ number }) => number > read).flatMap(({ effects }) => effects);
      read = letters.at(-1)?.number ?? read;
      if (isEqual(window[i]?.effects, told)) continue;
      throw new Error(describeFailure(seed, steps.slice(0, from + i + 1), told, options));
    }
  }
  expect(await leftovers(runner, `seed-${seed}`, steps.at(-1)?.now ?? 0)).toEqual([]);
}

/** What is left of a space when all is over and forgotten, but for its own numbers and its process. */
async function leftovers(runner: ScriptRunner, space: string, now: number): Promise<readonly string[]> {
  const key = spaceKey(PREFIX, space);
  const bye = { space, process: "two", batch: 1, read: 0, join: { channel: "wake" }, now, commands: [] } as const;
  await runner.run({ ...bye, leave: true });
  const names = (await runner.send("KEYS", `${key}*`)) as readonly string[];
  await runner.send("UNLINK", ...names);
  const expected = [key, `${key}:processes`, `${key}:p:one`, `${key}:mail:one`];
  return names.filter((name) => !expected.includes(name) && !name.startsWith(`${key}:re`));
}

function describeFailure(
  seed: number,
  steps: readonly Step[],
  told: readonly unknown[],
  options: WorldOptions,
): string {
  const last = steps.at(-1);
  return [
    `seed ${seed}, step ${steps.length}: the script's effects are not the engine's`,
    `engine: ${show(last?.effects)}`,
    `script: ${show(told)}`,
    "the latest steps:",
    ...steps.slice(-RECENT_MAX).map(({ command, now }) => `  at ${now}: ${show(command)}`),
    `options: ${show(options)}`,
    `again: SEED=${seed} npx vitest run test/fleet/oracle.test.ts`,
  ].join("\n");
}
