import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { serialFromClock } from "../../src/stores/serial.ts";
import { claims, holding, TestClock } from "./records.ts";

test("a memory store says that it is not durable, and forgets", async () => {
  const store = createMemoryStore(new TestClock());
  await store.commit("default", claims(holding(1)));

  expect(store.durable).toBe(false);
  expect((await store.load("default")).image).toEqual({ claims: [], sessions: [], records: [], waiters: [] });
});

test("serial and epoch of a memory store rise over restarts", async () => {
  const clock = new TestClock();
  const first = createMemoryStore(clock);
  const before = (await first.load("default")).serial;
  clock.wallMs += 1;
  const second = createMemoryStore(clock);

  expect(second.epoch).toBeGreaterThan(first.epoch);
  expect((await second.load("default")).serial).toBe(before + 1000);
});

test("serials from the clock are safe integers, whatever the clock says", () => {
  expect(serialFromClock(1_800_000_000_000.75)).toBe(1_800_000_000_000_000);
  expect(serialFromClock(Number.MAX_VALUE)).toBe(2 ** 52);
  expect(serialFromClock(2 ** 52 / 1000 + 1)).toBe(2 ** 52);
});
