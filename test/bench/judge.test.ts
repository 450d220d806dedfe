import { describe, expect, test } from "vitest";
import { failuresOf, notesOn } from "../../bench/harness/judge.ts";
import type { Row, Verdict } from "../../bench/harness/results.ts";
import type { Figures } from "../../bench/load/job.ts";

const figures: Figures = {
  handOff: null,
  cutHandOff: null,
  wait: null,
  fairness: null,
  violations: 0,
  grants: 1,
  bytesPerCycle: null,
  timeline: [],
  storm: null,
  reconnect: null,
  sendLateness: null,
};
const good: Row = { scenario: "hot", subject: "bun ws-raw", floor: undefined, figures };

function invalid(text: string): Row {
  return { scenario: "hot", subject: "bun ws-raw", floor: undefined, invalid: text };
}

describe("a run fails", () => {
  test("when mutual exclusion was violated once", () => {
    expect(failuresOf([good])).toEqual([]);
    expect(failuresOf([good, { ...good, figures: { ...figures, violations: 1 } }])).toEqual([
      "hot · bun ws-raw: 1 × mutual exclusion was violated",
    ]);
  });

  test("when a socket broke, and when somebody waited for ever", () => {
    expect(failuresOf([good, invalid("a socket was closed with 1006")])).toHaveLength(1);
    expect(failuresOf([good, invalid("stuck: nobody was granted anything for half a minute")])).toHaveLength(1);
  });

  test("when nobody was granted anything, warm-up and all", () => {
    expect(failuresOf([{ ...good, figures: { ...figures, grants: 0 } }])).toEqual([
      "hot · bun ws-raw: nothing was granted",
    ]);
  });

  test("when a lease ended before its time", () => {
    const verdict: Verdict = { bytesPerHour: undefined, isGrowing: undefined, latenessNs: undefined, early: 1 };
    expect(failuresOf([{ ...good, soak: { samples: [], verdict } }])).toEqual([
      "hot · bun ws-raw: 1 × a lease was ended before its time",
    ]);
  });

  test("when nothing could be measured at all", () => {
    expect(failuresOf([invalid("no answer to slice")])).toEqual(["nothing was measured"]);
  });
});

test("what a slow machine does to a row makes a note, and no failure", () => {
  const rows = [good, invalid("no answer to slice"), invalid("a socket was closed with 4410 silent for too long")];
  expect(failuresOf(rows)).toEqual([]);
  expect(notesOn(rows, 0, 2).filter((note) => note.includes("did not answer in time"))).toHaveLength(2);
});
