import { describe, expect, test } from "vitest";
import { failuresOf, isLoadBound, notesOn } from "../../bench/harness/judge.ts";
import type { Row, Verdict } from "../../bench/harness/results.ts";
import type { Fairness, Figures } from "../../bench/load/job.ts";
import { NO_FAIRNESS, NO_FIGURES } from "./blank.ts";

const figures: Figures = { ...NO_FIGURES, grants: 1 };
const fairness: Fairness = { ...NO_FAIRNESS, orderInversions: 0, arrivalInversions: 0 };
const good: Row = { scenario: "hot", subject: "bun ws-raw", floor: undefined, figures };

function row(rest: Partial<Row>): Row {
  return { scenario: "hot", subject: "bun ws-raw", floor: "relay on bun", ...rest };
}

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

  test("when a load generator ended, and when nobody knows what it saw", () => {
    expect(failuresOf([good, invalid("the load generator ended: out of memory")])).toHaveLength(1);
    expect(failuresOf([good, row({})])).toEqual(["hot · bun ws-raw: no figures"]);
  });

  test("when a later ticket was granted first by a server that promises its order, wherever it runs", () => {
    const unordered = (subject: string): string[] =>
      failuresOf([row({ subject, figures: { ...figures, fairness: { ...fairness, orderInversions: 1 } } })]);
    for (const subject of ["bun ws-raw", "workerd ws-raw", "given ws-raw"]) {
      expect(unordered(subject)).toEqual([`hot · ${subject}: 1 × a later ticket was granted first`]);
    }
    expect(unordered("redis-lua")).toEqual([]);
  });

  test("when nobody was granted anything, warm-up and all", () => {
    expect(failuresOf([{ ...good, figures: { ...figures, grants: 0 } }])).toEqual([
      "hot · bun ws-raw: nothing was granted",
    ]);
  });

  test("when a lease ended before its time", () => {
    const verdict: Verdict = {
      bytesPerHour: undefined,
      isGrowing: undefined,
      latenessNs: undefined,
      ownLatenessNs: undefined,
      early: 1,
    };
    expect(failuresOf([{ ...good, soak: { samples: [], verdict } }])).toEqual([
      "hot · bun ws-raw: 1 × a lease was ended before its time",
    ]);
  });

  test("when nothing could be measured at all", () => {
    expect(failuresOf([invalid("no answer to slice")])).toEqual(["nothing was measured"]);
  });
});

test("what a slow machine does to a row makes a note, and no failure", () => {
  const rows = [
    good,
    invalid("no answer to slice"),
    invalid("a socket was closed with 4410 silent for too long"),
    invalid("a socket was closed with 4408 no hello in time"),
  ];
  expect(failuresOf(rows)).toEqual([]);
  expect(notesOn(rows, 0, 2).filter((note) => note.includes("did not answer in time"))).toHaveLength(3);
});

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
  expect(failuresOf([good, row({ skipped: "no server" })])).toEqual([]);
  expect(failuresOf([row({ invalid: "a socket was closed" })])).toEqual(["hot · bun ws-raw: a socket was closed"]);
});

test("a machine that drifted is one note, with the worst of each scenario's floors", () => {
  const floor = (scenario: string, subject: string, min: number, max: number): Row => ({
    ...row({ scoreNs: { median: min, min, max } }),
    scenario,
    subject,
  });
  const rows = [
    floor("hot", "relay on bun", 10, 16),
    floor("hot", "relay on deno", 10, 20),
    floor("drain", "relay on node", 10, 15),
    floor("drain", "node ws-raw", 10, 90),
  ];
  const notes = notesOn(rows, 0, 2);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(/drifted.* in hot \(× 2\.0\)\.$/);
});

test("a machine whose cores were more than half busy when the run began is a note", () => {
  expect(notesOn([], 1, 2)).toEqual([]);
  expect(notesOn([], 1.1, 2)).toEqual([expect.stringMatching(/busy when the run began \(load 1\.1 on 2 cores\)/)]);
});
