import { expect, test } from "vitest";
import { costsOf } from "../../bench/harness/costs.ts";
import { failuresOf } from "../../bench/harness/judge.ts";
import { Party } from "../../bench/harness/party.ts";
import type { Row } from "../../bench/harness/results.ts";
import { GIVEN } from "../../bench/harness/subjects.ts";
import type { Scenario } from "../../bench/scenarios.ts";
import { type Fault, HOT, lockServer } from "./lock-server.ts";

async function measured(fault: Fault, rest: Partial<Scenario> = {}): Promise<Row> {
  const server = await lockServer(fault);
  const scenario = { ...HOT, ...rest };
  try {
    const party = await Party.prepare(GIVEN, Promise.resolve(server), scenario, 1, costsOf(scenario, GIVEN, true, 100));
    await party.warmUp(20);
    await party.slice(100);
    await party.slice(100);
    await party.finish();
    return { scenario: scenario.name, subject: party.name, floor: undefined, ...party.row() };
  } finally {
    await server.stop();
  }
}

test("a server that does as it should fails nothing, and is told to be fair", async () => {
  const row = await measured("none");
  expect(failuresOf([row])).toEqual([]);
  expect(row.figures?.fairness).toMatchObject({ starved: 0, selfShare: 0, orderInversions: 0 });
});

test.each([
  ["two at once", /mutual exclusion was violated/],
  ["the same fence for all", /mutual exclusion was violated/],
  ["last come first served", /a later ticket was granted first/],
  ["closes a socket", /a socket was closed with 1011/],
  ["hangs up at hello", /a socket was closed with 4500/],
  ["takes a lock away", /a lock was lost: revoked/],
  ["answers an error", /the server answered refused/],
] as const)("a server's fault fails the run: %s", async (fault, said) => {
  expect(failuresOf([await measured(fault)])).toEqual([expect.stringMatching(said)]);
});

test("a drain in the wrong order fails the run", async () => {
  const drain = { shape: "drain", clients: 4 } as const;
  expect(failuresOf([await measured("none", drain)])).toEqual([]);
  expect(failuresOf([await measured("last come first served", drain)])).toEqual([
    expect.stringMatching(/a later ticket/),
  ]);
});

test("a server that gives the releaser its lock again fails the run, and whoever is let out of the line at its end was starved all the same", async () => {
  const row = await measured("own lock again");
  expect(failuresOf([row])).toEqual([expect.stringMatching(/a later ticket was granted first/)]);
  const { fairness } = row.figures ?? {};
  expect(fairness).toMatchObject({ starved: 7, maxByMin: null });
  expect(fairness?.jain).toBeCloseTo(1 / 8);
  expect(fairness?.selfShare).toBeGreaterThan(0.9);
});

test("a server that does not start fails its own row, and leaves the others theirs", async () => {
  const starting = Promise.reject(new Error("it ended with 1"));
  const party = await Party.prepare(GIVEN, starting, HOT, 1, costsOf(HOT, GIVEN, true, 100));
  await party.warmUp(20);
  expect(await party.slice(100)).toBeUndefined();
  await party.finish();
  expect(party.row()).toEqual({ invalid: "it ended with 1" });
});
