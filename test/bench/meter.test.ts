import { expect, test } from "vitest";
import { Meter } from "../../bench/load/meter.ts";

test("bytes are those of the turns that count, by the grants of the same", () => {
  let passed = 1_000;
  const meter = new Meter(() => passed);
  const turn = (from: number, to: number, bytes: number): void => {
    meter.begin({ grantCount: from });
    passed += bytes;
    meter.end({ grantCount: to });
  };
  expect(meter.bytesPerGrant()).toBeNull();
  turn(0, 10, 9_000);
  meter.forget();
  turn(10, 30, 400);
  passed += 5_000;
  turn(31, 41, 350);
  expect(meter.bytesPerGrant()).toBe(25);
});

test("nothing is said where nobody tells, where nothing passed and where nothing was granted", () => {
  const told = (passed: () => number | undefined, grants: number): number | null => {
    const meter = new Meter(passed);
    meter.begin({ grantCount: 0 });
    meter.end({ grantCount: grants });
    return meter.bytesPerGrant();
  };
  let passed = 0;
  expect(told(() => undefined, 1)).toBeNull();
  expect(told(() => 7, 1)).toBeNull();
  expect(told(() => (passed += 7), 0)).toBeNull();
  expect(told(() => (passed += 7), 1)).toBe(7);
});
