import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Caller } from "../conformance/caller.ts";
import { Child } from "../conformance/child.ts";
import { node } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";

const SCRIPT = fileURLToPath(new URL("../../examples/deploy.sh", import.meta.url));
const KEY = "deploy/production";

let server: Server;

beforeAll(async () => {
  server = await startServer(node);
});

afterAll(() => server[Symbol.asyncDispose]());

test("a second deployment waits until the first is done", async () => {
  // Each deployment works until a line on its standard input lets it end.
  await using first = deploy("read -r");
  await first.printed(/^deploying/);
  await using second = deploy("read -r");
  await new Caller(server.url).waiting(KEY, 1);
  expect(second.output.trim()).toBe("waiting for the lock");

  first.writeLine("");
  await second.printed(/^deploying/);
  expect(first.output).toContain("done");
  second.writeLine("");
  expect((await first.ended).code).toBe(0);
  expect((await second.ended).code).toBe(0);
  const fences = [first, second].map(({ output }) => Number(/fence (\d+)/.exec(output)?.[1]));
  expect(fences[1]).toBeGreaterThan(fences[0]!);
  expect((await new Caller(server.url).status(KEY)).body.status).toBe("free");
});

test("a deployment that fails lets go of the lock, and fails", async () => {
  await using failing = deploy("exit 3");
  expect((await failing.ended).code).toBe(3);
  expect((await new Caller(server.url).status(KEY)).body.status).toBe("free");
});

test("a deployment that is interrupted lets go of the lock", async () => {
  await using interrupted = deploy("echo working; read -r");
  await interrupted.printed(/^working/);
  interrupt(interrupted);
  expect((await interrupted.ended).code).not.toBe(0);
  expect((await new Caller(server.url).status(KEY)).body.status).toBe("free");
});

test("a deployment that is interrupted while it waits leaves the queue", async () => {
  await using first = deploy("read -r");
  await first.printed(/^deploying/);
  await using second = deploy("read -r");
  await new Caller(server.url).waiting(KEY, 1);
  interrupt(second);
  await second.ended;
  await new Caller(server.url).waiting(KEY, 0);
  first.writeLine("");
  expect((await first.ended).code).toBe(0);
});

test("without a server a deployment does not start", async () => {
  await using orphan = new Child([SCRIPT, "echo", "deployed"], { LATCHKEY_URL: "http://127.0.0.1:9" });
  expect((await orphan.ended).code).not.toBe(0);
  expect(orphan.output).not.toContain("deployed");
});

function deploy(command: string): Child {
  return new Child(["setsid", SCRIPT, "bash", "-c", command], { LATCHKEY_URL: server.url });
}

/** As a terminal does it: every process of the group that `setsid` made gets the signal. */
function interrupt({ pid }: Child): void {
  process.kill(-pid, "SIGINT");
}
