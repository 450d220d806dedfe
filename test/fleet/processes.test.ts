import { describe, it } from "vitest";
import { hasRedisServer } from "./support/redis-server.ts";
import { runnerOfSuite } from "./support/suite-runner.ts";
import { writeStory } from "./support/stories.ts";
import { tellInTurns } from "./support/tell-in-turns.ts";

const SEEDS = 30;
const STEPS = 500;
const BATCH = 10;

const { SEED } = process.env;
const firsts = SEED === undefined ? Array.from({ length: SEEDS / BATCH }, (_, i) => 1001 + i * BATCH) : [Number(SEED)];

describe.skipIf(!hasRedisServer())("what the engine tells reaches the process that it is for, once, in order", () => {
  const script = runnerOfSuite();

  it.each(firsts)(`${SEED === undefined ? BATCH : 1} seeds from %i`, async (first) => {
    for (let seed = first; seed < first + (SEED === undefined ? BATCH : 1); seed++)
      await tellInTurns(script.runner, writeStory(seed, STEPS));
  });
});
