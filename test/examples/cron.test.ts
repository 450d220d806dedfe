import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Child } from "../conformance/child.ts";
import { node } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/cron/report.ts", import.meta.url));
const OURS = "this server makes the report of 2031-01-01";
const OTHERS = "another server has the report of 2031-01-01";

test("of three servers that start a job together one runs it, and one that comes late does not either", async () => {
  await using latchkey = await startServer(node);
  const jobs = [1, 2, 3].map(() => run(latchkey, "2031-01-01"));
  expect((await Promise.all(jobs)).toSorted()).toEqual([OTHERS, OTHERS, OURS]);
  expect(await run(latchkey, "2031-01-01")).toBe(OTHERS);
  expect(await run(latchkey, "2031-01-02")).toBe("this server makes the report of 2031-01-02");
});

async function run({ url }: Server, day: string): Promise<string> {
  await using child = new Child([process.execPath, EXAMPLE, day], { LATCHKEY_URL: url });
  expect((await child.ended).code).toBe(0);
  return child.output.trim();
}
