import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { orStuck } from "../../bench/load/stuck.ts";

const HALF_A_MINUTE_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("somebody is stuck when nothing has moved for half a minute, and not a turn of the timer earlier", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const inTime = orStuck(
    () => promise,
    () => 0,
  );
  await vi.advanceTimersByTimeAsync(HALF_A_MINUTE_MS - 1);
  resolve("granted");
  await expect(inTime).resolves.toBe("granted");

  const never = orStuck(
    () => new Promise<never>(() => undefined),
    () => 0,
  );
  let error: unknown;
  never.catch((reason: unknown) => {
    error = reason;
  });
  await vi.advanceTimersByTimeAsync(HALF_A_MINUTE_MS);
  expect(String(error)).toContain("stuck");
});

test("whatever moves begins the half minute anew", async () => {
  let steps = 0;
  const never = orStuck(
    () => new Promise<never>(() => undefined),
    () => steps,
  );
  let isOver = false;
  never.catch(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(HALF_A_MINUTE_MS - 100);
  steps += 1;
  await vi.advanceTimersByTimeAsync(HALF_A_MINUTE_MS);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(100);
  expect(isOver).toBe(true);
});
