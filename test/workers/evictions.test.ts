import { expect, test } from "vitest";
import { replay } from "./evictions.ts";
import { nodeStorage } from "./node-storage.ts";

const SEEDS = 100;
const BATCH = 20;
const STEPS = 600;

const { SEED } = process.env;
const firsts = SEED === undefined ? Array.from({ length: SEEDS / BATCH }, (_, i) => 1 + i * BATCH) : [Number(SEED)];

test.each(firsts)(
  "an engine that sleeps and is started anew at random does what the model does, seeds from %i",
  (first) => {
    const total = { evictions: 0, restarts: 0 };
    for (let seed = first; seed < first + (SEED === undefined ? BATCH : 1); seed++) {
      const { evictions, restarts } = replay(seed, STEPS, nodeStorage());
      total.evictions += evictions;
      total.restarts += restarts;
    }
    if (SEED !== undefined) return;
    expect(total.evictions).toBeGreaterThan(1000);
    expect(total.restarts).toBeGreaterThan(100);
  },
);
