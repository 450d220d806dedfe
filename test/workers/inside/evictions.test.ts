import { expect, test } from "vitest";
import { replay } from "../evictions.ts";
import { World } from "./world.ts";

test("an engine that sleeps in the storage of a real object does what the model does, seeds from 1001", async () => {
  for (let seed = 1001; seed <= 1010; seed++) {
    const world = new World();
    const { evictions } = await world.inside((ctx) => replay(seed, 300, ctx.storage));
    expect(evictions).toBeGreaterThan(20);
  }
});
