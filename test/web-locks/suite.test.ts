import { expect, test } from "vitest";
import { CASES } from "./suite.ts";

test("the suite has each rule once, and more than seventy-five of them", () => {
  const names = CASES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(75);
});
