import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command, Effect, RefusalCode } from "../../src/core/index.ts";
import type { LedgerLimitName } from "../../src/core/idempotency/limits.ts";
import type { LimitName } from "../../src/core/limits.ts";
import { type FleetAnswer, spaceKey } from "../../src/fleet/script.ts";
import { Coverage } from "../simulation/coverage.ts";
import { isEqual } from "../simulation/equal.ts";
import { hasRedisServer, type RedisServer, startRedisServer } from "./support/redis-server.ts";
import { openRunner, PREFIX, type ScriptRunner } from "./support/script-runner.ts";
import { describeFailure, type Step, writeStory } from "./support/stories.ts";

const SEEDS = 200;
const BATCH = 20;
const WINDOW = 16;
/** Every other story is told in calls of so many commands, where they are of the same time. */
const COMMANDS_MAX = 6;
/** Each thing that can be told is told so often at least. */
const RARE_MIN = 20;

/** `SEED=7 npx vitest run test/fleet/oracle.test.ts` tells one story alone; `STEPS=2500` longer ones. */
const { SEED } = process.env;
const STEPS = Number(process.env["STEPS"] ?? 400);
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

  const coverage = new Coverage();

  it.each(firsts)(`${SEED === undefined ? BATCH : 1} seeds from %i`, async (first) => {
    for (let seed = first; seed < first + (SEED === undefined ? BATCH : 1); seed++)
      await replay(runner, seed, coverage);
  });

  it.skipIf(SEED !== undefined)("the stories were about everything that an engine tells", () => {
    const rare = expectedCoverage().filter((name) => (coverage.counts.get(name) ?? 0) < RARE_MIN);
    expect(rare).toEqual([]);
  });
});

async function replay(runner: ScriptRunner, seed: number, coverage: Coverage): Promise<void> {
  const story = writeStory(seed, STEPS);
  const { settings, startedAt, steps } = story;
  for (const { effects } of steps) coverage.addEffects(effects);
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
      ...(story.options.isWatched && { watch: true }),
      commands,
    });

  const published: (readonly string[])[] = [];
  const stop = await runner.watch(`seed-${seed}`, ({ keys }) => void published.push([...(keys ?? [])].toSorted()));
  await run(startedAt, []);
  const calls = inCalls(steps, seed % 2 === 0 ? 1 : COMMANDS_MAX);
  let stepCount = 0;
  for (let from = 0; from < calls.length; from += WINDOW) {
    // These do not wait for each other: each is told again what those before it in the window were told.
    const window = calls.slice(from, from + WINDOW);
    const commands = (call: readonly Step[]): readonly Command[] => call.map(({ command }) => command);
    const answers = await Promise.all(window.map((call) => run(call[0]?.now ?? 0, commands(call))));
    for (const [i, { letters }] of answers.entries()) {
      const told = letters.filter(({ number }) => number > read).flatMap(({ effects }) => effects);
      const expected = window[i]?.flatMap(({ effects }) => effects) ?? [];
      read = letters.at(-1)?.number ?? read;
      stepCount += window[i]?.length ?? 0;
      if (isEqual(expected, told)) continue;
      throw new Error(describeFailure(story, stepCount, "oracle.test.ts", { engine: expected, script: told }));
    }
  }
  await stop();
  // One message for each call that changed something, with all that it changed.
  const touched = calls.map((call) => [...new Set(call.flatMap((step) => [...step.touched]))].toSorted());
  expect(published).toEqual(touched.filter((keys) => keys.length > 0));
  expect(await leftovers(runner, `seed-${seed}`, steps.at(-1)?.now ?? 0)).toEqual([]);
}

function inCalls(steps: readonly Step[], countMax: number): readonly (readonly Step[])[] {
  const calls: Step[][] = [];
  for (const step of steps) {
    const call = calls.at(-1);
    if (call !== undefined && call.length < countMax && call[0]?.now === step.now) call.push(step);
    else calls.push([step]);
  }
  return calls;
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

/** By the names that Coverage gives. The types make sure that nothing new is left out. */
function expectedCoverage(): readonly string[] {
  const effects: Record<Effect["kind"], true> = {
    opened: true,
    resumed: true,
    session_ended: true,
    queued: true,
    granted: true,
    ended: true,
    lost: true,
    extended: true,
    released: true,
    asked: true,
    revoked: true,
    status: true,
    list: true,
    refused: true,
    started: true,
    replay: true,
    in_progress: true,
    attempt_queued: true,
    completed: true,
    failed: true,
    attempt_extended: true,
    forgotten: true,
    attempt_lost: true,
    record_status: true,
  };
  // Redis that cannot say what it has fails the whole call.
  const refusals: Record<Exclude<RefusalCode, "unavailable">, true> = {
    limit: true,
    limit_mismatch: true,
    depth_limit: true,
    request_mismatch: true,
    unknown_token: true,
    session_ended: true,
    not_waiting: true,
    shared_holders: true,
    fingerprint_mismatch: true,
    result_mismatch: true,
  };
  // Redis is full as a whole, not of records.
  const limits: Record<Exclude<LimitName | LedgerLimitName, "records">, true> = {
    keys: true,
    waiters_per_key: true,
    claims_per_session: true,
    caller_claims: true,
    sessions: true,
    begins: true,
    waiters_per_record: true,
    begins_per_session: true,
  };
  return [
    ...Object.keys(effects).map((kind) => `effect ${kind}`),
    ...Object.keys(refusals).map((code) => `refused ${code}`),
    ...Object.keys(limits).map((limit) => `limit ${limit}`),
  ];
}
