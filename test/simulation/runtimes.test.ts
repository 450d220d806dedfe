import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const SCRIPT = join(import.meta.dirname, "run.ts");
const DENO_RUN = ["run", "-A", "--cached-only", "--no-remote"];

describe("a seed tells the same story on every runtime", () => {
  const onNode = run(process.execPath, []);

  it("bun", async () => {
    expect(await run(tool("bun"), [])).toBe(await onNode);
  });

  it("deno", async () => {
    expect(await run(tool("deno"), DENO_RUN)).toBe(await onNode);
  });
});

function tool(name: string): string {
  return join(ROOT, "node_modules/.bin", name);
}

/** The hash of all effects. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const { SEED: _seed, ...rest } = process.env;
  const env = { ...rest, DENO_NO_UPDATE_CHECK: "1" };
  const asked = [...args, SCRIPT, "--seeds", "20", "--steps", "1500"];
  const { stdout } = await promisify(execFile)(program, asked, { cwd: ROOT, env });
  const hash = /hash ([0-9a-f]{16})\n$/.exec(stdout)?.[1];
  if (hash === undefined) throw new Error(`${program} printed no hash:\n${stdout}`);
  return hash;
}
