import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command } from "../../src/core/index.ts";
import { type FleetAnswer, spaceKey } from "../../src/fleet/script.ts";
import { isEqual } from "../simulation/equal.ts";
import { hasRedisServer, type RedisServer, startRedisServer } from "./support/redis-server.ts";
import { openRunner, PREFIX, type ScriptRunner } from "./support/script-runner.ts";
import { describeFailure, writeStory } from "./support/stories.ts";

const SEEDS = 200;
const STEPS = 700;
const BATCH = 20;
const WINDOW = 16;

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

async function replay(runner: ScriptRunner, seed: number): Promise<void> {
  const story = writeStory(seed, STEPS);
  const { settings, startedAt, steps } = story;
  let batch = 0;
  let read = 0;
  const run = async (now: number, commands: readonly Command[]): Promise<FleetAnswer> =>
    runner.run({
      space: `seed-${seed}`,
      process: "one",
      batch: ++batch,
      read,
      join: { channel: "wake" },
      now,
      settings,
      commands,
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
      throw new Error(
        describeFailure(story, from + i + 1, "oracle.test.ts", { engine: window[i]?.effects, script: told }),
      );
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
