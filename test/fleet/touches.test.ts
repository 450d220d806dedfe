import { expect, test } from "vitest";
import { encodeText } from "../../src/fleet/text.ts";
import { ask, SpaceWorld, status } from "./support/space.ts";

type Heard = readonly string[] | "anything";

/** A process that watches, whose channel is listened to, and that has heard of everything up to now. */
async function watching(): Promise<{ world: SpaceWorld; heard: Heard[]; stop: () => void }> {
  const world = new SpaceWorld();
  const heard: Heard[] = [];
  const stop = world.space.watch((keys) => void heard.push(keys === undefined ? "anything" : [...keys]));
  await world.submit(ask("r0"));
  await world.answer({ touches: 7 });
  await world.answer({ touches: 7, letters: [world.letter(status("r0"))] });
  return { world, heard, stop };
}

function publish(world: SpaceWorld, number: number, ...keys: readonly string[]): void {
  world.listener?.message(JSON.stringify({ number, ...(keys.length > 0 && { keys }) }));
}

test("calls say that somebody watches, and only then", async () => {
  const { world, stop } = await watching();
  expect(world.lastCall).toMatchObject({ watch: true });
  stop();
  await world.submit(ask("r1"));
  expect(world.lastCall).not.toHaveProperty("watch");
  expect(world.listened).toEqual(["closed"]);
});

test("whoever watches hears the keys that are published, and a surrogate comes back as it was", async () => {
  const { world, heard } = await watching();
  publish(world, 8, "a", "b");
  publish(world, 9, encodeText("\ud800"));
  expect(heard).toEqual([["a", "b"], ["\ud800"]]);
});

test("a message that is missing, or that names no keys, means that any key may have changed", async () => {
  const { world, heard } = await watching();
  publish(world, 9, "a");
  publish(world, 10);
  publish(world, 11, "b");
  expect(heard).toEqual(["anything", "anything", ["b"]]);
});

test("whatever was published before it listens may have been missed", async () => {
  const { world, heard } = await watching();
  world.listener?.listening();
  expect(heard).toEqual(["anything"]);
});

test("what answers tell of and nobody hears is repaired: after a while any key may have changed, and it listens anew", async () => {
  const { world, heard } = await watching();
  await world.submit(ask("r1"));
  await world.answer({ touches: 8 });
  await world.advance(249, () => world.answer({ touches: 8 }));
  expect([heard, world.listened]).toEqual([[], []]);
  await world.advance(1, () => world.answer({ touches: 8 }));
  expect([heard, world.listened]).toEqual([["anything"], ["renewed"]]);
  await world.advance(5000, () => world.answer({ touches: 8 }));
  expect(heard).toEqual(["anything"]);
});

test("what is heard a little later than an answer tells of it is not lost", async () => {
  const { world, heard } = await watching();
  await world.submit(ask("r1"));
  await world.answer({ touches: 8 });
  await world.advance(200, () => world.answer({ touches: 8 }));
  publish(world, 8, "a");
  await world.advance(5000, () => world.answer({ touches: 8 }));
  expect([heard, world.listened]).toEqual([[["a"]], []]);
});

test("what comes is no JSON: that is told, and stops nothing", async () => {
  const { world, heard } = await watching();
  world.listener?.message("{");
  publish(world, 8, "a");
  expect(world.errors).toHaveLength(1);
  expect(heard).toEqual([["a"]]);
});
