/**
 * What only a deployment can tell: how late its alarms are, and how soon its edge tells of a client that is gone.
 *
 *   node field-check.ts https://latchkey.example.workers.dev [--key KEY] [--rounds 5] [--asleep] [--frozen]
 *
 * `--asleep` adds what a sleeping object does, 15 s a round; `--frozen` adds a client that stops answering, a deadline long.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Client, connect } from "latchkey/client";
import { httpClient } from "latchkey/client/http";

/** An object is put to sleep after 10 s without an event. */
const ASLEEP_AFTER_MS = 15_000;
const LEASE_MS = 500;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    key: { type: "string" },
    rounds: { type: "string", default: "5" },
    asleep: { type: "boolean", default: false },
    frozen: { type: "boolean", default: false },
    hold: { type: "string" },
    wait: { type: "string" },
  },
});
const url = positionals[0];
const auth = values.key;
// Its own space, so that it disturbs nobody; an object that nobody else keeps awake.
const space = `field-check-${crypto.randomUUID().slice(0, 8)}`;
const rounds = Number(values.rounds);

if (url === undefined) {
  console.error("usage: node field-check.ts URL [--key KEY] [--rounds 5] [--asleep] [--frozen]");
  process.exitCode = 2;
} else if (values.hold !== undefined) {
  await hold(url, values.hold);
} else if (values.wait !== undefined) {
  await waitByCall(url, values.wait);
} else {
  await check(url);
}

async function check(target: string): Promise<void> {
  await using client = connect(target, { auth, space });
  await client.ready;
  await measure("round trip", async (key) => {
    const startedAt = performance.now();
    await client.status(key);
    return performance.now() - startedAt;
  });
  await measure("hand-off from one session to another", (key) => handOff(target, client, key));
  await measure("alarm: the end of a lease, later than it was due", (key) => lateness(client, key));
  await measure("kill -9 of a holder until the next has its lock", (key) => gone(target, client, key, "SIGKILL", 0));
  await measure("kill -9 of a caller that waits over HTTP: what its turn costs the next", (key) =>
    diedWaiting(target, client, key),
  );
  if (values.asleep) {
    await measure("the same kill -9 of a holder, with the object asleep", (key) =>
      gone(target, client, key, "SIGKILL", ASLEEP_AFTER_MS),
    );
    await measure("the end of a lease with the object asleep, later than it was due", (key) =>
      lateness(client, key, ASLEEP_AFTER_MS),
    );
  }
  if (values.frozen) {
    await measure(
      "a client that is frozen until the next has its lock",
      (key) => gone(target, client, key, "SIGSTOP", 0),
      1,
    );
  }
}

async function measure(name: string, run: (key: string) => Promise<number>, times: number = rounds): Promise<void> {
  const found: number[] = [];
  for (let round = 0; round < times; round++) found.push(await run(crypto.randomUUID()));
  const [least, median, most] = [0, Math.floor(found.length / 2), found.length - 1].map((i) =>
    found.toSorted((a, b) => a - b)[i]?.toFixed(1),
  );
  console.log(`${name}: ${median} ms (${least} to ${most})`);
}

async function handOff(target: string, client: Client, key: string): Promise<number> {
  await using other = connect(target, { auth, space });
  const lock = await other.acquire(key);
  const next = client.acquire(key);
  await waiting(client, key);
  const startedAt = performance.now();
  await lock.release();
  await (await next).release();
  return performance.now() - startedAt;
}

/** From the grant to the next grant, less the lease: alarm and one way to here. */
async function lateness(client: Client, key: string, leaseMs: number = LEASE_MS): Promise<number> {
  await client.acquire(key, { ttl: leaseMs });
  const startedAt = performance.now();
  const lock = await client.acquire(key);
  const lateMs = performance.now() - startedAt - leaseMs;
  await lock.release();
  return lateMs;
}

async function gone(
  target: string,
  client: Client,
  key: string,
  signal: NodeJS.Signals,
  afterMs: number,
): Promise<number> {
  const child = await start(target, "--hold", key);
  const next = client.acquire(key);
  await waiting(client, key);
  await pause(afterMs);
  const startedAt = performance.now();
  child.kill(signal);
  const lock = await next;
  const tookMs = performance.now() - startedAt;
  child.kill("SIGKILL");
  await lock.release();
  return tookMs;
}

async function diedWaiting(target: string, client: Client, key: string): Promise<number> {
  const lock = await client.acquire(key);
  const child = await start(target, "--wait", key);
  await waiting(client, key);
  await using other = connect(target, { auth, space });
  const next = other.acquire(key);
  await waiting(client, key, 2);
  child.kill("SIGKILL");
  await once(child, "exit");
  const startedAt = performance.now();
  await lock.release();
  await (await next).release();
  return performance.now() - startedAt;
}

async function waiting(client: Client, key: string, count = 1): Promise<void> {
  while ((await client.status(key)).waiting < count);
}

// In a process of its own, to be killed.

async function start(target: string, what: "--hold" | "--wait", key: string): Promise<ChildProcess> {
  const args = [
    fileURLToPath(import.meta.url),
    target,
    what,
    `${space} ${key}`,
    ...(auth === undefined ? [] : ["--key", auth]),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

async function hold(target: string, where: string): Promise<void> {
  const [inSpace, key = ""] = where.split(" ");
  await connect(target, { auth, space: inSpace }).acquire(key);
  console.log("holds");
}

async function waitByCall(target: string, where: string): Promise<void> {
  const [inSpace, key = ""] = where.split(" ");
  console.log("waits");
  await httpClient(target, { auth, space: inSpace }).acquire(key, { ttl: 600_000 });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
