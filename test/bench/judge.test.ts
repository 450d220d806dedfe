import { expect, test } from "vitest";
import { failuresOf, isLoadBound, notesOn } from "../../bench/harness/judge.ts";
import type { Row } from "../../bench/harness/results.ts";

function row(rest: Partial<Row>): Row {
  return { scenario: "hot", subject: "bun ws-raw", floor: "relay on bun", ...rest };
}

test("the load generator is the bottleneck when its core is full and the server's is not", () => {
  expect(isLoadBound(row({ loadShare: 0.9, serverShare: 0.71 }))).toBe(true);
  expect(isLoadBound(row({ loadShare: 0.89, serverShare: 0.1 }))).toBe(false);
  expect(isLoadBound(row({ loadShare: 1, serverShare: 0.8 }))).toBe(false);
  expect(isLoadBound(row({ loadShare: 1 }))).toBe(true);
  expect(isLoadBound(row({}))).toBe(false);
});

test("a run says where the load generator was the bottleneck, and nothing where it was not", () => {
  expect(notesOn([row({ loadShare: 0.5, serverShare: 0.9 })], 0, 2)).toEqual([]);
  expect(notesOn([row({ loadShare: 0.95, serverShare: 0.5 })], 0, 2)).toEqual([
    expect.stringMatching(/bottleneck.*hot · bun ws-raw.*--loaders 2/),
  ]);
});

test("an invalid row fails the run, a skipped one does not", () => {
  expect(failuresOf([row({ skipped: "no server" })])).toEqual([]);
  expect(failuresOf([row({ invalid: "a socket was closed" })])).toEqual(["hot · bun ws-raw: a socket was closed"]);
});
