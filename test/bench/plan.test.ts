import { expect, test } from "vitest";
import { readOptions } from "../../bench/harness/options.ts";
import { type Plan, planOf, roundsOf, type Surroundings } from "../../bench/harness/plan.ts";
import { SUBJECTS } from "../../bench/harness/subjects.ts";

const MINUTE_MS = 60_000;

/** A machine with all that anybody needs. */
const EQUIPPED: Surroundings = { whyMissing: () => undefined, filesMax: 1_000_000 };

function plan(...args: string[]): Promise<Plan> {
  return planOf(readOptions(args), EQUIPPED);
}

test("a run that nothing more is asked of is planned for eleven minutes at most", async () => {
  const { ms } = await plan();
  expect(ms).toBeGreaterThan(5 * MINUTE_MS);
  expect(ms).toBeLessThanOrEqual(11 * MINUTE_MS);
});

test("a quick run is planned for less than 90 seconds", async () => {
  expect((await plan("--quick")).ms).toBeLessThan(90_000);
});

test("it has every scenario that there is, and every subject in one of them at least", async () => {
  const [some, all] = await Promise.all([plan(), plan("--all")]);
  const names = ({ scenarios }: Plan): string[] => scenarios.map(({ scenario }) => scenario.name);
  expect(names(some)).toEqual(names(all));
  const measured = new Set(some.scenarios.flatMap(({ subjects }) => subjects.map(({ name }) => name)));
  expect(SUBJECTS.map(({ name }) => name).filter((name) => !measured.has(name))).toEqual([]);
  expect(some.scenarios.filter(({ subjects }) => subjects.length < 3)).toEqual([]);
});

test("whatever has a target has three rounds at least, and ours on all three runtimes", async () => {
  const options = readOptions([]);
  const { scenarios } = await planOf(options, EQUIPPED);
  const targets = scenarios.filter(({ scenario }) => /^(hot key|drain|drop →|uncontended 128)/.test(scenario.name));
  expect(targets).toHaveLength(11);
  for (const { scenario, subjects } of targets) {
    expect(roundsOf(scenario, options.run)).toBeGreaterThanOrEqual(3);
    const names = subjects.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["bun ws-raw", "deno ws-raw", "node ws-raw"]));
  }
});

test("a row is planned with its floor beside it, and the rows' times are the scenario's", async () => {
  const { scenarios, warmUpMs, ms } = await plan();
  for (const part of scenarios) {
    const times = part.rows.map((row) => row.ms);
    expect(times.reduce((sum, each) => sum + each, 0)).toBeCloseTo(part.ms);
  }
  expect(scenarios.reduce((sum, part) => sum + part.ms, warmUpMs)).toBeCloseTo(ms);
  const drain = scenarios.find(({ scenario }) => scenario.name === "drain 128");
  expect(drain?.rows.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["relay on bun", "relay on deno", "relay on node", "relay on workerd", "zookeeper"]),
  );
});

test("all who take part are warm before the first scenario, peers and floors too, but for a quick run, and those who poll", async () => {
  const namesOf = async (...args: string[]): Promise<string[]> =>
    (await plan(...args)).warmUps.map(({ name }) => name).toSorted();
  const all = await namesOf();
  for (const host of ["bun", "deno", "node", "workerd"]) {
    expect(all).toEqual(expect.arrayContaining([`${host} ws-raw`, `relay on ${host}`, `echo on ${host}`]));
  }
  const peers = SUBJECTS.map(({ name }) => name).filter((name) => !/polling|semaphore|redlock|upstash/.test(name));
  expect(all).toEqual(expect.arrayContaining(peers));
  expect(all).not.toContain("redlock5");
  expect(await namesOf("--quick")).toEqual([]);
  // The server of a storm has no past, but who speaks to it has.
  expect(await namesOf("--only", "drop storm,bun ws-raw")).toEqual(["bun ws-raw", "relay on bun"]);
});

test("a storm is work, and a hot key mostly turns of a given length", async () => {
  const { scenarios } = await plan();
  const workOf = (name: string): number => {
    const part = scenarios.find(({ scenario }) => scenario.name === name);
    return (part?.workMs ?? Number.NaN) / (part?.ms ?? Number.NaN);
  };
  expect(workOf("drop storm 10000")).toBe(1);
  expect(workOf("hot key 16")).toBeLessThan(0.2);
});

test("what is left out is named where it could have taken part, and only there", async () => {
  const { scenarios } = await plan();
  const partOf = (name: string) => scenarios.find(({ scenario }) => scenario.name === name);
  expect(partOf("hot key 2")?.leftOut).toContain("etcd");
  expect(partOf("hot key 16")?.leftOut).toEqual([]);
  // Nobody cuts a poller.
  expect(partOf("drop → next, FIN")?.leftOut).toEqual([]);
  for (const { subjects, leftOut } of scenarios) {
    expect(subjects.filter(({ name }) => leftOut.includes(name))).toEqual([]);
  }
});

test("nothing is left out of a run that names what it wants, or wants all", async () => {
  const named = await plan("--only", "hot key 1024");
  expect(named.scenarios.flatMap(({ leftOut }) => leftOut)).toEqual([]);
  expect(named.scenarios[0]?.subjects.map(({ name }) => name)).toContain("zookeeper");
  const all = await plan("--all");
  expect(all.scenarios.flatMap(({ leftOut }) => leftOut)).toEqual([]);
});

test("a subject without its server is skipped with the reason, and planned no time", async () => {
  const withoutEtcd: Surroundings = { ...EQUIPPED, whyMissing: (kind) => (kind === "etcd" ? "no etcd" : undefined) };
  const { scenarios } = await planOf(readOptions(["--only", "drain 128,etcd,bun ws-raw"]), withoutEtcd);
  expect(scenarios[0]?.skipped).toEqual([{ subject: "etcd", why: "no etcd" }]);
  expect(scenarios[0]?.rows.map(({ name }) => name)).toEqual(["relay on bun", "bun ws-raw"]);
});

test("a storm is skipped where a process may not have as many files open, of which workerd has two for each socket", async () => {
  const skippedAt = async (filesMax: number): Promise<readonly string[]> => {
    const wanted = readOptions(["--only", "drop storm,node ws-raw,workerd ws-raw", "--sessions", "10000"]);
    const { scenarios } = await planOf(wanted, { ...EQUIPPED, filesMax });
    return scenarios.flatMap(({ skipped }) => skipped.map(({ subject }) => subject));
  };
  expect(await skippedAt(20_200)).toEqual([]);
  expect(await skippedAt(20_199)).toEqual(["workerd ws-raw"]);
  expect(await skippedAt(10_200)).toEqual(["workerd ws-raw"]);
  expect(await skippedAt(10_199)).toEqual(["node ws-raw", "workerd ws-raw"]);
});
