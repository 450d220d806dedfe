import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseSettings } from "../../src/cli/settings.ts";
import { Child } from "../conformance/child.ts";
import { bun, deno, node, RUNTIMES, type Runtime } from "../conformance/runtimes.ts";
import { type Server, startServer, temporaryFolder } from "../conformance/server.ts";
import { installPackage } from "./package.ts";

const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const ADDRESS = "http://127.0.0.1:8787";

const folder = temporaryFolder();
let server: Server;

beforeAll(async () => {
  installPackage(folder.path);
  server = await startServer(bun);
}, 60_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder.remove();
});

/** The code block behind the comment `<!-- run: name -->`. */
function block(name: string): string {
  const found = new RegExp(`<!-- run: ${name} -->\\n\`\`\`\\w+\\n([\\s\\S]*?)\n\`\`\``).exec(README);
  if (found?.[1] === undefined) throw new Error(`README has no block ${name}`);
  return found[1];
}

/** Starts a block as a program of the project that has the package installed. */
function start(runtime: Runtime, name: string, edit: (code: string) => string): Child {
  const file = join(folder.path, `${name}-on-${runtime.name}.ts`);
  writeFileSync(file, edit(block(name)));
  return new Child([...runtime.command.slice(0, -1), file], {}, folder.path);
}

describe.each(RUNTIMES)("on $name", (runtime) => {
  test("the client example runs as it stands", async () => {
    await using child = start(runtime, "client", (code) => code.replaceAll(ADDRESS, server.url));
    const { code } = await child.ended;
    expect(child.output.trim().split("\n")).toEqual([
      expect.stringMatching(/^saved with fence \d+$/),
      "doc:42 is ours",
      "transferred",
      "rendered",
      "somebody else is at it",
    ]);
    expect(code).toBe(0);
  });

  test("the Web Locks example runs as it stands", async () => {
    await using child = start(runtime, "locks", (code) => code.replaceAll(ADDRESS, server.url));
    const { code } = await child.ended;
    expect(child.output.trim().split("\n")).toEqual([
      expect.stringMatching(/^saved with fence \d+$/),
      "in use",
      expect.stringMatching(/shared/),
    ]);
    expect(code).toBe(0);
  });

  test("the example of watching and asking runs as it stands", async () => {
    await using child = start(runtime, "watch", (code) => code.replaceAll(ADDRESS, server.url));
    const { code } = await child.ended;
    expect(child.output.trim().split("\n")).toEqual(["bob: may I?", "bob has it, me: false", "stolen: lunch is over"]);
    expect(code).toBe(0);
  });

  test("the HTTP example runs as it stands", async () => {
    await using child = start(runtime, "http", (code) => code.replaceAll(ADDRESS, server.url));
    const { code } = await child.ended;
    expect(child.output.trim()).toMatch(/^ours, fence \d+$/);
    expect(code).toBe(0);
  });

  test("the example of work that runs once runs as it stands", async () => {
    await using child = start(runtime, "once", (code) =>
      code.replaceAll(ADDRESS, server.url).replaceAll("1001", runtime.name),
    );
    const { code } = await child.ended;
    const result = /\{\s*charged: 5,\s*attempt: 1,?\s*\}/.source;
    expect(child.output.trim()).toMatch(new RegExp(`^${result}\\s+${result}\\s+true$`));
    expect(code).toBe(0);
  });

  test("the middleware example runs as it stands", async () => {
    await using child = start(runtime, "hono", (code) =>
      code.replaceAll(ADDRESS, server.url).replaceAll("4f5a", runtime.name),
    );
    const { code } = await child.ended;
    expect(child.output.trim().split("\n")).toEqual(["true true 422", "200 412"]);
    expect(code).toBe(0);
  });
});

test.each([bun, deno, node])("the embedding example for $name serves locks beside its own page", async (runtime) => {
  const port = await freePort();
  await using child = start(runtime, runtime.name, (code) =>
    code.replace("3000", String(port)).replace("latchkey.db", join(folder.path, `${runtime.name}.db`)),
  );
  await child.printed(/under the lock/);
  const page = await fetch(`http://127.0.0.1:${port}/`);
  expect(await page.text()).toBe("my own page");
  const status = await fetch(`http://127.0.0.1:${port}/v1/latch/demo`);
  expect(await status.json()).toEqual({ key: "demo", status: "free", holders: [], waiting: 0 });
});

test("the three calls answer what README says", async () => {
  const lines = block("curl").replaceAll(ADDRESS, server.url).split("\n");
  const calls = lines.filter((line) => line.startsWith("curl"));
  const answers = lines.filter((line) => line.startsWith("# ")).map((line) => line.slice(2));
  expect(calls).toHaveLength(3);
  let token = "";
  for (const [index, call] of calls.entries()) {
    await using child = new Child(["bash", "-c", call.replace('"token":"…"', `"token":"${token}"`)]);
    await child.ended;
    const answer = JSON.parse(child.output) as { token?: string };
    token = answer.token ?? token;
    // What README leaves out as … may be any string or number; the rest is to the letter.
    const shown = answers[index]
      ?.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll(/"?…"?/g, '(?:"[^"]+"|\\d+)');
    expect(child.output.trim()).toMatch(new RegExp(`^${shown}$`));
  }
});

test("README begins with the two commands", () => {
  const commands = [...README.matchAll(/```sh\n(.*)\n```/g)].map((found) => found[1]);
  expect(commands.slice(0, 2)).toEqual(["npm ci && npm start", "npm ci && npm test"]);
});

test("every setting is in README's table, with its default", () => {
  const defaults = parseSettings({});
  expect(defaults).toMatchObject({
    ok: true,
    settings: { port: 8787, db: "latchkey.db", heartbeatMs: 5000, deadlineMs: 15_000 },
  });
  const source = ["settings", "fleet-settings"]
    .map((file) => readFileSync(new URL(`../../src/cli/${file}.ts`, import.meta.url), "utf8"))
    .join("");
  const names = [...source.matchAll(/read\("([A-Z_]+)"/g)].map((found) => found[1] ?? "");
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) if (name !== "NO_COLOR") expect(README).toContain(`\`${name}\``);
});

async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => {
    listener.close(resolve);
  });
  return port;
}
