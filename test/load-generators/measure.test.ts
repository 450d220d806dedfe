import { type ChildProcess, spawn } from "node:child_process";
import { expect, test } from "vitest";
import { costsOf } from "../../bench/harness/costs.ts";
import { LoaderPool } from "../../bench/harness/loader-pool.ts";
import { measure, type Servers } from "../../bench/harness/measure.ts";
import { Party } from "../../bench/harness/party.ts";
import type { Kind } from "../../bench/harness/progress.ts";
import type { Row } from "../../bench/harness/results.ts";
import { type Floor, GIVEN, type Subject } from "../../bench/harness/subjects.ts";
import { start } from "../../bench/servers/kinds.ts";
import { HOT, lockServer } from "./lock-server.ts";

/** `breaksAfter`: so many turns, that of the floor among them. */
async function measured(rounds: number, breaksAfter?: number): Promise<readonly [floor: Row, subject: Row]> {
  const given = await lockServer("none");
  const running = { given, "floor-node": await start("floor-node") };
  let turnsDone = 0;
  const tell = (_ms: number, kind: Kind): void => {
    // Warm-ups of the two come first.
    if (kind === "turns" && ++turnsDone - 2 === breaksAfter) given.closeOne();
  };
  const servers: Servers = {
    whyMissing: () => undefined,
    get: (kind) => Promise.resolve(running[kind as keyof typeof running]),
  };
  using pool = new LoaderPool<Subject | Floor>();
  try {
    const turns = { rounds, sliceMs: 100, loaders: 1 };
    const rows = await measure({ scenario: HOT, subjects: [GIVEN], skipped: [] }, turns, servers, pool, tell);
    expect(rows.map(({ subject }) => subject)).toEqual(["relay on node", "given ws-raw"]);
    return rows as unknown as readonly [Row, Row];
  } finally {
    for (const server of Object.values(running)) await server.stop();
  }
}

/** One turn, so that a row's medians are those of it. Again where the machine stood still for all of one. */
async function onceMeasured(): ReturnType<typeof measured> {
  for (;;) {
    const rows = await measured(1);
    if (rows.every(({ scoreNs, invalid }) => scoreNs !== undefined || invalid !== undefined)) return rows;
  }
}

test("a row is given as multiples of its floor's turn: its time by the floor's, and its cycles by the floor's", async () => {
  const [floor, row] = await onceMeasured();
  const over = (of: (row: Row) => number | undefined): number => (of(row) ?? Number.NaN) / (of(floor) ?? Number.NaN);
  expect(row.floor).toBe("relay on node");
  expect(row.timeRatio?.median).toBeCloseTo(over(({ scoreNs }) => scoreNs?.median));
  expect(row.cycleRatio?.median).toBeCloseTo(over(({ cyclesPerSecond }) => cyclesPerSecond?.median));
  // Processor time is that of the floor's server, and not known of one that was given.
  expect(floor.serverShare).toBeGreaterThan(0);
  expect(floor.serverCpuMsPer1000).toBeCloseTo(
    ((floor.serverShare ?? 0) * 1e6) / (floor.cyclesPerSecond?.median ?? Number.NaN),
  );
  expect(row.serverShare).toBeUndefined();
  // A masked frame of five letters to the server and a plain one back, and little that is none of them.
  expect(floor.figures?.bytesPerCycle).toBeGreaterThanOrEqual(2 + 4 + 5 + 2 + 5);
  expect(floor.figures?.bytesPerCycle).toBeLessThan(2 * 18);
  expect(row.loadShare).toBeLessThan(1.5);
});

test("a socket that drops in the middle of a row leaves it no figure, and its floor all of them", async () => {
  const [floor, row] = await measured(2, 2);
  expect(row).toEqual({
    scenario: HOT.name,
    subject: "given ws-raw",
    floor: "relay on node",
    invalid: "a socket was closed with 1011",
  });
  expect(floor.cyclesPerSecond?.median).toBeGreaterThan(0);
});

test("a server's processor time is that of the process that it is, and of its helpers, in the turns", async () => {
  const [idle, busy] = ["setInterval(() => undefined, 1e9)", "for (;;);"].map((program) =>
    spawn(process.execPath, ["-e", program], { stdio: "ignore" }),
  ) as [ChildProcess, ChildProcess];
  const server = await lockServer("none");
  using pool = new LoaderPool<Subject | Floor>();
  const shareOf = async (helperPids: readonly number[]): Promise<number> => {
    const starting = Promise.resolve({ ...server, pid: idle.pid, helperPids });
    const party = await Party.prepare(GIVEN, starting, HOT, pool, 1, costsOf(HOT, GIVEN, true, 100));
    for (let turns = 0; turns < 3; turns++) await party.slice(100);
    await party.finish();
    return party.row().serverShare ?? Number.NaN;
  };
  try {
    // What the idle one takes until it has started.
    await shareOf([]);
    expect(await shareOf([])).toBeLessThan(0.01);
    // As much of a core as it is given.
    expect(await shareOf([busy.pid ?? 0])).toBeGreaterThan(0.01);
  } finally {
    for (const child of [idle, busy]) child.kill("SIGKILL");
    await server.stop();
  }
});
