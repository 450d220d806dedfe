import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { DENO, NODE } from "./deviations.ts";
import { CASES } from "./suite.ts";

const SCRIPT = fileURLToPath(new URL("native.ts", import.meta.url));
const DENO_RUN = ["run", "-A", "--cached-only", "--no-remote"];

describe("a platform's own navigator.locks passes all cases but those it is known to fail", () => {
  test.each([
    ["node", [], NODE],
    ["deno", DENO_RUN, DENO],
  ] as const)("%s", async (program, args, deviations) => {
    const { asked, failed } = await run(program, args);
    expect(asked).toBe(CASES.filter(({ needs = [] }) => needs.length === 0).length);
    expect(Object.keys(failed).toSorted()).toEqual(deviations.toSorted());
  });
});

async function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly asked: number; readonly failed: Readonly<Record<string, string>> }> {
  const binary = fileURLToPath(new URL(`../../node_modules/.bin/${program}`, import.meta.url));
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };
  const { stdout } = await promisify(execFile)(binary, [...args, SCRIPT], { env });
  return JSON.parse(stdout) as Awaited<ReturnType<typeof run>>;
}
