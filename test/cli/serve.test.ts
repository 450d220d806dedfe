import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

/** The start of a server from the environment, with a server that is no server. */
function start(env: Record<string, string>) {
  const script = fileURLToPath(new URL("./stand-in.ts", import.meta.url));
  const args = "Deno" in globalThis ? ["run", "-A", "--cached-only", script] : [script];
  const child = spawn(process.execPath, args, { env: { PATH: process.env["PATH"], ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const told = { output: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (told.output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (told.errors += text));
  const ended = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  const printed = async (text: string): Promise<void> => {
    while (!told.output.includes(text)) await Promise.race([once(child.stdout, "data"), ended]);
  };
  // Not child.kill: on Deno its end is then told as one by that signal, whatever the exit code.
  const signal = (name: NodeJS.Signals): boolean => process.kill(child.pid!, name);
  return { signal, told, ended, printed };
}

test("a start prints the address, where locks are kept, and three calls", async () => {
  const { told, printed } = start({ PORT: "1234" });
  await printed("curl http://127.0.0.1:1234/v1/latch/demo\n");

  expect(told.output).toContain("Latchkey listens on http://127.0.0.1:1234\n");
  expect(told.output).toContain("are kept in latchkey.db");
  expect(told.output).toContain(`curl http://127.0.0.1:1234/v1/latch/demo/acquire -d '{"ttl":30000}'\n`);
  expect(told.output).toContain(`curl http://127.0.0.1:1234/v1/latch/demo/release -d '{"token":"…"}'\n`);
  expect(told.output).not.toContain("\u001b");
});

test("the demo is told of where it is shown", async () => {
  const shown = start({ PORT: "1234" });
  await shown.printed("Two people share a form: http://127.0.0.1:1234/demo\n");
  const hidden = start({ LATCHKEY_DEMO: "off" });
  await hidden.printed("/v1/latch/demo\n");
  expect(hidden.told.output).not.toContain("Two people");
});

test("without a file it says what that means", async () => {
  const { printed } = start({ LOCK_ADAPTER: "memory" });

  await printed("Locks are kept in memory only: they end with this process.");
});

test("where records are kept apart from locks it says so", async () => {
  const { told, printed } = start({ LOCK_ADAPTER: "memory", IDEMPOTENCY_ADAPTER: "sqlite" });
  await printed("Idempotency records are kept in latchkey.db.");
  expect(told.output).toContain("Locks are kept in memory only");
});

test("a fleet tells where its Redis is, and not what opens it", async () => {
  const { told, printed } = start({ LOCK_ADAPTER: "redis", REDIS_URL: "rediss://user:hunter22@db.example.com:6380/0" });
  await printed("Locks are kept in the Redis at db.example.com:6380, and shared with all servers that use it.");

  expect(told.output).not.toContain("hunter22");
  expect(told.output).not.toContain("user");
});

test("with keys the calls show where one goes, and no key is printed", async () => {
  const { told, printed } = start({ LATCHKEY_KEYS: "correct-horse;name=ci" });
  await printed(`curl -H "Authorization: Bearer $LATCHKEY_KEY" http://127.0.0.1:8787/v1/latch/demo\n`);

  expect(told.output).not.toContain("horse");
});

test("every wrong value is one line, and nothing is started", async () => {
  const { told, ended } = start({ PORT: "x", LATCHKEY_KEYS: "correct-horse;admin" });

  expect(await ended).toEqual([1, null]);
  expect(told.output).toBe("");
  expect(told.errors.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/^latchkey: PORT: must be /),
    expect.stringMatching(/^latchkey: LATCHKEY_KEYS: key 1 may be followed by /),
  ]);
});

test("an address that cannot be had is one line", async () => {
  const { told, ended } = start({ FAIL: "EADDRINUSE" });

  expect(await ended).toEqual([1, null]);
  expect(told.errors).toBe("latchkey: 127.0.0.1:8787 is in use by another program: choose another PORT\n");
});

test.each(["SIGTERM", "SIGINT"] as const)("%s ends well when all have gone", async (name) => {
  const { signal, ended, printed } = start({});
  await printed("listens");
  signal(name);

  await printed("closing");
  expect(await ended).toEqual([0, null]);
});

test("a second signal ends at once", async () => {
  const { signal, ended, printed } = start({ HANG: "1" });
  await printed("listens");
  signal("SIGTERM");
  await printed("closing");
  signal("SIGINT");

  expect(await ended).toEqual([1, null]);
});

test("a close that fails is told, and ends badly", async () => {
  const { signal, told, ended, printed } = start({ BREAK: "1" });
  await printed("listens");
  signal("SIGTERM");

  expect(await ended).toEqual([1, null]);
  expect(told.errors).toContain("latchkey: error while shutting down:");
});
