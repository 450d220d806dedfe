import { expect, test } from "vitest";
import { usedMs } from "../../bench/servers/proc.ts";

test("threads that ended take nothing from what others used, and those that began bring what they did", () => {
  const before = new Map([
    ["stays", 5e6],
    ["ends", 900e6],
  ]);
  const after = new Map([
    ["stays", 7e6],
    ["begins", 1e6],
  ]);
  expect(usedMs(before, after)).toBe(3);
  expect(usedMs(before, before)).toBe(0);
});
