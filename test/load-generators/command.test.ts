import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import type { Results } from "../../bench/harness/results.ts";
import { inRepository } from "../../bench/servers/paths.ts";
import { node } from "../conformance/runtimes.ts";
import { startServer } from "../conformance/server.ts";
import { lockServer } from "./lock-server.ts";
import type { Fault } from "./locks.ts";

const left: string[] = [];

afterAll(() => {
  for (const path of left) for (const kind of ["json", "html"]) rmSync(`${path}.${kind}`, { force: true });
});

type Env = Readonly<Record<string, string>>;

interface Run {
  readonly code: number;
  readonly text: string;
}

function bench(args: readonly string[], env: Env = {}): Promise<Run> {
  return new Promise((resolve) => {
    const words = [inRepository("bench/main.ts"), ...args];
    const command = execFile(process.execPath, words, { env: { ...process.env, ...env } }, (_error, text, complaints) =>
      resolve({ code: command.exitCode ?? Number.NaN, text: text + complaints }),
    );
  });
}

/** Of a server that runs somewhere. */
async function measure(url: string, env?: Env): Promise<Run & { readonly path: string }> {
  const run = await bench(["--quick", "--only", "hot key 16", "--rounds", "1", "--slice", "50", "--url", url], env);
  const path = inRepository(/bench\/out\/\S+(?=\.json and \.html)/.exec(run.text)?.[0] ?? "");
  left.push(path);
  return { ...run, path };
}

async function measured(fault: Fault): Promise<Run & { readonly path: string }> {
  const server = await lockServer(fault);
  try {
    return await measure(server.url);
  } finally {
    await server.stop();
  }
}

test(
  "the command measures a server that runs somewhere, ends with 1 only where a rule was broken, and leaves what compares with another run",
  { timeout: 120_000 },
  async () => {
    const good = await measured("none");
    expect(good.text).not.toContain("FAIL");
    expect(good.code).toBe(0);
    const bad = await measured("two at once");
    expect(bad.text).toMatch(/FAIL hot key 16 · given ws-raw: \d+ × mutual exclusion was violated/);
    expect(bad.code).toBe(1);

    const results = JSON.parse(readFileSync(`${good.path}.json`, "utf8")) as Results;
    expect(results.rows.map(({ subject }) => subject)).toEqual(["relay on node", "given ws-raw"]);
    expect(results.command).toContain("npm run bench -- --quick --only hot key 16");
    expect(results.commit).toMatch(/^[0-9a-f]{12}/);
    expect(results.machine.cores).toBeGreaterThan(0);
    const page = readFileSync(`${good.path}.html`, "utf8");
    expect(page).toContain("given ws-raw");
    expect(page).not.toMatch(/<script|<link|\bsrc=|@import|url\(/);

    const compared = await bench(["--compare", `${good.path}.json`, `${bad.path}.json`]);
    expect(compared.code).toBe(0);
    expect(compared.text).toContain("hot key 16 · given ws-raw");
    expect(compared.text).toContain("FAIL hot key 16 · given ws-raw");
    const nothing = await bench(["--compare", `${good.path}.json`, "nowhere.json"]);
    expect([nothing.code, nothing.text]).toEqual([2, expect.stringContaining("nowhere.json cannot be read")]);
  },
);

test("what the command does not know is refused with 2, and what there is, told", async () => {
  const unknown = await bench(["--only", "no such row"]);
  expect([unknown.code, unknown.text]).toEqual([
    2,
    expect.stringContaining("--only no such row names nothing. There are:"),
  ]);
  const help = await bench(["--help"]);
  expect([help.code, help.text]).toEqual([0, expect.stringContaining("--compare old new")]);
});

test(
  "a server that asks who comes is measured with what the environment says, which stands in nothing that is printed or left",
  { timeout: 120_000 },
  async () => {
    await using server = await startServer(node, { env: { LATCHKEY_KEYS: "a-secret-of-sixteen-and-more" } });
    const run = await measure(server.socketUrl, { BENCH_CREDENTIAL: "a-secret-of-sixteen-and-more" });
    expect(run.text).not.toContain("FAIL");
    expect(run.code).toBe(0);
    for (const kind of ["json", "html"]) expect(readFileSync(`${run.path}.${kind}`, "utf8")).not.toContain("a-secret");
    expect(run.text).not.toContain("a-secret");
    const stranger = await measure(server.socketUrl);
    expect(stranger.text).toMatch(/FAIL hot key 16 · given ws-raw: the server answered error, unauthenticated/);
    expect(stranger.code).toBe(1);
  },
);
