import { expect, test } from "vitest";
import { groupsOf, sidesOf } from "../../bench/harness/groups.ts";

const floors: Readonly<Record<string, string>> = { a: "one", b: "two", c: "one", d: "one" };

test("two subjects of one floor share its turn, and nobody stands beside a floor that is not his own", () => {
  expect(groupsOf(["a", "b", "c", "d"], (name) => floors[name])).toEqual([
    { floor: "one", members: ["a", "c"] },
    { floor: "one", members: ["d"] },
    { floor: "two", members: ["b"] },
  ]);
});

test("where the scenario brings its own floor each is by itself", () => {
  expect(groupsOf(["a", "b"], () => undefined)).toEqual([
    { floor: undefined, members: ["a"] },
    { floor: undefined, members: ["b"] },
  ]);
});

test("from round to round now one and now the other comes before the floor, whoever is alone too", () => {
  const pair = { floor: "one", members: ["a", "c"] } as const;
  expect([0, 1, 2].map((round) => sidesOf(pair, round))).toEqual([
    ["a", "c"],
    ["c", "a"],
    ["a", "c"],
  ]);
  const single = { floor: "one", members: ["d"] } as const;
  expect([0, 1].map((round) => sidesOf(single, round))).toEqual([
    ["d", undefined],
    [undefined, "d"],
  ]);
});
