import { expect, test } from "vitest";
import { type ClaimEvent, LIFECYCLE } from "../../src/core/index.ts";
import { drawLifecycle, next } from "../../src/core/lifecycle.ts";

test("a claim that is gone stays gone", () => {
  expect(LIFECYCLE.gone).toEqual({});
  const events = new Set([...Object.keys(LIFECYCLE.waiting), ...Object.keys(LIFECYCLE.holding)]);
  for (const event of events) expect(() => next("gone", event as ClaimEvent)).toThrow("a gone claim");
});

test("a move that the table lacks is a bug and throws", () => {
  expect(() => next("waiting", "expired")).toThrow("a waiting claim cannot be moved by expired");
  expect(next("waiting", "grant")).toBe("holding");
});

test("the diagram has a line for each move of the table", () => {
  const diagram = drawLifecycle();
  for (const [from, moves] of Object.entries(LIFECYCLE)) {
    for (const [event, to] of Object.entries(moves)) {
      expect(diagram.split("\n").some((line) => line.startsWith(`  ${from} --> ${to}: `) && line.includes(event))).toBe(
        true,
      );
    }
  }
});
