import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { driverOfRuntime, temporaryFolder } from "./drivers.ts";
import { TestClock } from "./records.ts";

const driver = await driverOfRuntime();

test("what a process has committed is there after kill -9, whole, and the file can be opened at once", async () => {
  const path = join(temporaryFolder(onTestFinished), "latchkey.db");
  const clock = new TestClock(0, Date.now());
  const [committed, serial] = await commitAndKill(path);

  const store = driver.open(path, { clock });
  onTestFinished(() => store.close());
  const found = store.load("default");
  const tickets = found.image.claims.map(({ ticket }) => ticket);
  expect(tickets.length).toBeGreaterThanOrEqual(2 * committed);
  expect(tickets).toEqual(Array.from({ length: tickets.length }, (_, i) => i + 2));
  expect(tickets.length % 2).toBe(0);
  expect(found.serial).toBeGreaterThanOrEqual(serial);
});

test("a file that another process serves is refused", async () => {
  const path = join(temporaryFolder(onTestFinished), "latchkey.db");
  const child = start(path);
  await once(child.stdout, "data");

  expect(() => driver.open(path, { clock: new TestClock(), waitMs: 0 })).toThrow("is in use by another server");
  child.kill("SIGKILL");
  await once(child, "exit");
});

test("a file stays refused to other processes when this one has tried to open it once more", () => {
  const path = join(temporaryFolder(onTestFinished), "latchkey.db");
  const store = driver.open(path, { clock: new TestClock() });
  onTestFinished(async () => store.close());
  expect(() => driver.open(path, { clock: new TestClock(), waitMs: 0 })).toThrow("is in use by another server");

  const { status, stderr } = spawnSync(process.execPath, argumentsOf(path), { encoding: "utf8", timeout: 10_000 });
  expect(stderr).toContain("is in use by another server");
  expect(status).toBe(1);
});

/** What the killed process had told of: the number of commits, and the last serial reserved. */
async function commitAndKill(path: string): Promise<[committed: number, serial: number]> {
  const child = start(path);
  let told = "";
  child.stdout.on("data", (chunk: string) => {
    told += chunk;
    if (told.split("\n").length > 50) child.kill("SIGKILL");
  });
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  expect(signal).toBe("SIGKILL");
  const [committed = 0, serial = 0] = told.slice(0, told.lastIndexOf("\n")).split("\n").at(-1)!.split(" ").map(Number);
  return [committed, serial];
}

function start(path: string) {
  const child = spawn(process.execPath, argumentsOf(path), { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.setEncoding("utf8");
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

function argumentsOf(path: string): string[] {
  const script = fileURLToPath(new URL("./writer.ts", import.meta.url));
  return "Deno" in globalThis ? ["run", "-A", "--cached-only", script, path] : [script, path];
}
