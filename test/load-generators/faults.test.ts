import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { latchkeyRaw } from "../../bench/drivers/latchkey-raw.ts";
import { costsOf } from "../../bench/harness/costs.ts";
import { failuresOf } from "../../bench/harness/judge.ts";
import { LoaderPool } from "../../bench/harness/loader-pool.ts";
import { Party } from "../../bench/harness/party.ts";
import type { Row } from "../../bench/harness/results.ts";
import { type Floor, GIVEN, type Subject } from "../../bench/harness/subjects.ts";
import { isOnce, type Scenario } from "../../bench/scenarios.ts";
import type { BenchServer } from "../../bench/servers/server.ts";
import { HOT, lockServer } from "./lock-server.ts";
import type { Fault } from "./locks.ts";

const HEAVY = fileURLToPath(new URL("heavy-server.ts", import.meta.url));

async function measured(fault: Fault, rest: Partial<Scenario> = {}, pid?: number): Promise<Row> {
  return measuredAt({ ...(await lockServer(fault)), pid }, rest);
}

/** The server is stopped afterwards. */
async function measuredAt(server: BenchServer, rest: Partial<Scenario>): Promise<Row> {
  const scenario = { ...HOT, ...rest };
  using pool = new LoaderPool<Subject | Floor>();
  try {
    const party = await Party.prepare(
      GIVEN,
      Promise.resolve(server),
      scenario,
      pool,
      1,
      costsOf(scenario, GIVEN, true, 100),
    );
    if (!isOnce(scenario)) await party.warmUp(20);
    for (let round = 0; round < (isOnce(scenario) ? 1 : 2); round++) await party.slice(100);
    await party.finish();
    return { scenario: scenario.name, subject: party.name, floor: undefined, ...party.row() };
  } finally {
    await server.stop();
  }
}

test("a server that does as it should fails nothing, and is told to be fair", async () => {
  const row = await measured("none");
  expect(failuresOf([row])).toEqual([]);
  expect(row.figures?.fairness).toMatchObject({ starved: 0, orderInversions: 0 });
  // Whoever begins may have the key twice, when a busy machine lets nobody else be heard meanwhile.
  expect(row.figures?.fairness?.selfShare).toBeLessThan(0.05);
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

const OWN = { keys: "own", clients: 12 } as const;

test("storms cut all who hold: nobody is granted before, everybody afterwards, and nothing is left", async () => {
  const asleep = spawn("sleep", ["1000"]);
  const row = await measured("none", { ...OWN, shape: "storm" }, asleep.pid);
  asleep.kill();
  expect(failuresOf([row])).toEqual([]);
  const { sessions, acquireMs, grantedOnMs, emptyMs, ...bytes } = row.figures?.storm ?? {};
  // Memory is that of the process that is the server, and this one needs no more of it.
  expect(bytes).toEqual({ bytesPerSession: 0, bytesPerHolder: 0, bytesPerWaiter: 0 });
  expect(sessions).toBe(12);
  for (const ms of [acquireMs, grantedOnMs, emptyMs]) expect(ms).toBeGreaterThan(0);
  // Twelve in each of two storms.
  const early = await measured("two at once", { ...OWN, shape: "storm" });
  expect(failuresOf([early])).toEqual(["hot · given ws-raw: 24 × mutual exclusion was violated"]);
});

test("what a session, a lock and a wait take of a server's memory is divided among as many as there are of each", async () => {
  // Far apart, and far above what a runtime takes and gives back by itself.
  const mib = { session: 4, grant: 8, wait: 16 };
  const sizes = Object.values(mib).map(String);
  const heavy = spawn(process.execPath, [HEAVY, ...sizes], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const [url] = (await once(heavy.stdout, "data")) as [Buffer];
    const server = { url: url.toString().trim(), pid: heavy.pid, stop: () => Promise.resolve() };
    // One session waits for all of the four keys.
    const row = await measuredAt(server, { ...OWN, clients: 4, shape: "storm" });
    expect(failuresOf([row])).toEqual([]);
    const { bytesPerSession, bytesPerHolder, bytesPerWaiter } = row.figures?.storm ?? {};
    for (const [bytes = 0, is] of [
      [bytesPerSession, mib.session],
      [bytesPerHolder, mib.grant],
      [bytesPerWaiter, mib.wait],
    ] as const) {
      expect(bytes / 2 ** 20 / is).toBeGreaterThan(0.5);
      expect(bytes / 2 ** 20 / is).toBeLessThan(1.5);
    }
  } finally {
    heavy.stdin.end();
  }
});

test.each([
  ["storm", 2],
  ["reconnect", 1],
] as const)("a %s is over when the server says that it knows of nobody, and not before", async (shape, storms) => {
  const server = await lockServer("forgets the last session late");
  const row = await measuredAt(server, { ...OWN, shape });
  expect(failuresOf([row])).toEqual([]);
  expect(server.emptyTold()).toBe(storms);
});

test("a server that still knows of those who were cut fails the reconnect storm", async () => {
  const row = await measured("none", { ...OWN, shape: "reconnect" });
  expect(failuresOf([row])).toEqual([]);
  expect(row.figures?.reconnect?.left).toEqual({ sessions: 12, keys: 12, holding: 12, waiting: 0 });
  const left = await measured("counts sessions that have gone", { ...OWN, shape: "reconnect" });
  expect(failuresOf([left])).toEqual([expect.stringMatching(/12 hold again, and the server knows of {"sessions":24,/)]);
});

test("a holder that is cut hands on, after a crash among many and between two, and that is told apart from a release", async () => {
  for (const scenario of [{ shape: "crash" }, { shape: "drop", clients: 2, cut: "fin" }] as const) {
    const row = await measured("none", scenario);
    expect(failuresOf([row])).toEqual([]);
    expect(row.figures?.cutHandOff?.count).toBeGreaterThan(0);
    expect(row.figures?.handOff?.count).toBeGreaterThan(0);
  }
});

test("whoever holds for 1 ms holds for no less", async () => {
  const { figures } = await measured("none", { holdMs: 1 });
  const holds = figures?.timeline.map(([, fromMs, toMs]) => toMs - fromMs) ?? [];
  expect(holds.length).toBeGreaterThan(0);
  // A timer may be early by less than one of its turns, and a turn of the gate may end on the way.
  expect(Math.max(...holds)).toBeGreaterThan(0.9);
});

test("a server that does not start fails its own row, and leaves the others theirs", async () => {
  const starting = Promise.reject(new Error("it ended with 1"));
  using pool = new LoaderPool<Subject | Floor>();
  const party = await Party.prepare(GIVEN, starting, HOT, pool, 1, costsOf(HOT, GIVEN, true, 100));
  await party.warmUp(20);
  expect(await party.slice(100)).toBeUndefined();
  await party.finish();
  expect(party.row()).toEqual({ invalid: "it ended with 1" });
});

test("a release is over when the server has acknowledged it, and not before", async () => {
  const server = await lockServer("keeps acknowledgements back");
  const opened = await latchkeyRaw.open({ url: server.url, row: "row", keys: [] });
  const client = await opened.connect(0, () => undefined);
  try {
    const held = await client.acquire("k", {});
    let isOver = false;
    const release = held.release().then(() => (isOver = true));
    // The server has heard of the release by the time that it answers what was asked after it.
    await client.acquire("another", {});
    expect(isOver).toBe(false);
    server.acknowledge();
    await release;
  } finally {
    await client.close();
    await server.stop();
  }
});
