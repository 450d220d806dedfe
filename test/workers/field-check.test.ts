import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Child } from "../conformance/child.ts";
import { workers } from "../conformance/runtimes.ts";
import { startServer } from "../conformance/server.ts";

const PROGRAM = fileURLToPath(new URL("../../examples/workers/field-check.ts", import.meta.url));

test("the check for deployments prints its figures against a server here", async () => {
  const env = { LATCHKEY_HEARTBEAT: "300ms", LATCHKEY_DEADLINE: "900ms", LATCHKEY_KEYS: "secret-key" };
  await using server = await startServer(workers, { env });
  const args = [server.url, "--key", "secret-key", "--rounds", "3", "--frozen"];
  await using child = new Child([process.execPath, PROGRAM, ...args]);
  const { code } = await child.ended;
  console.log(child.output);
  expect(child.output.trim().split("\n")).toEqual([
    expect.stringMatching(/^round trip: [\d.]+ ms/),
    expect.stringMatching(/^hand-off .*: [\d.]+ ms/),
    expect.stringMatching(/^alarm: .*: -?[\d.]+ ms/),
    expect.stringMatching(/^kill -9 of a holder .*: [\d.]+ ms/),
    expect.stringMatching(/^kill -9 of a caller .*: [\d.]+ ms/),
    expect.stringMatching(/^a client that is frozen .*: [\d.]+ ms/),
  ]);
  expect(code).toBe(0);
});
