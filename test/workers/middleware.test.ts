/** The middleware in a Worker of somebody's own, on workerd as it is, which can be killed. */

import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Calm } from "../conformance/calm.ts";
import type { Child } from "../conformance/child.ts";
import { temporaryFolder } from "../conformance/server.ts";
import { bundleWorker, startWorker } from "./own-worker.ts";

const CROWD = 200;
/** As in the Worker. */
const LEASE_MS = 3000;
/** What the start of a process and 200 requests take on a busy machine. */
const SLACK_MS = 7000;

const folder = temporaryFolder();
/** What the bank was asked for, and what it has charged: a payment for each key. */
const asked: string[] = [];
const payments = new Map<string, string>();
let gate: Promise<void> = Promise.resolve();
let bank: Server;
let child: Child;
let url = "";

beforeAll(async () => {
  bank = createServer((request, answer) => {
    const charge = async (): Promise<void> => {
      const key = await text(request);
      asked.push(key);
      const payment = payments.get(key) ?? crypto.randomUUID();
      payments.set(key, payment);
      await gate;
      answer.end(payment);
    };
    charge().catch((error: unknown) => answer.destroy(error as Error));
  });
  await new Promise<void>((resolve) => bank.listen(0, "127.0.0.1", resolve));
  await bundleWorker(
    new URL("./paying-worker.ts", import.meta.url),
    folder.path,
    configOf((bank.address() as AddressInfo).port),
  );
  await start();
}, 60_000);

afterAll(async () => {
  await child?.kill();
  bank?.close();
  folder.remove();
});

async function start(): Promise<void> {
  const started = await startWorker(folder.path);
  child = started.child;
  url = `http://127.0.0.1:${started.port}`;
}

function configOf(bankPort: number): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["private", "local"])),
    (name = "disk", disk = (path = "${folder.path}", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "LockSpace", uniqueKey = "latchkey", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [
    (name = "LOCKS", durableObjectNamespace = "LockSpace"),
    (name = "BANK", text = "http://127.0.0.1:${bankPort}/"),
  ],
);
`;
}

function pay(key: string, amount = 5): Promise<Response> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  return fetch(`${url}/payments`, { method: "POST", headers, body: JSON.stringify({ amount }) });
}

function crowd(key: string): Promise<Response>[] {
  return Array.from({ length: CROWD }, () => pay(key));
}

async function expectOneAnswer(answers: readonly Response[], replays: number): Promise<void> {
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(answers.map(({ headers }) => headers.get("location")))).toEqual(new Set(["/payments/1"]));
  const replayed = answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
  expect(replayed).toHaveLength(replays);
  expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
}

function timesAsked(key: string): number {
  return asked.filter((each) => each === key).length;
}

test(`of ${CROWD} requests with one key at once one is carried out, and all others get its bytes`, async () => {
  await expectOneAnswer(await Promise.all(crowd("once")), CROWD - 1);
  expect(timesAsked("once")).toBe(1);
  expect((await pay("once", 6)).status).toBe(422);
});

const calm = new Calm(4);
calm.watch();

test(
  "kill -9 in the middle of the handler: charged once, and no key waits longer than its lease",
  calm.options,
  async ({ task }) => {
    const key = `killed-${task.result?.retryCount}`;
    const stuck = Promise.withResolvers<void>();
    gate = stuck.promise;
    const before = Promise.allSettled(crowd(key));
    while (timesAsked(key) === 0) await new Promise((resolve) => setImmediate(resolve));
    await child.kill();
    const killedAt = performance.now();
    gate = Promise.resolve();
    stuck.resolve();
    expect((await before).filter(({ status }) => status === "fulfilled")).toEqual([]);
    await start();
    await expectOneAnswer(await Promise.all(crowd(key)), CROWD - 1);
    expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + SLACK_MS);
    // The second attempt asked again, under the same key.
    expect(timesAsked(key)).toBe(2);
    expect((await pay(key)).headers.get("idempotent-replayed")).toBe("true");
    expect((await pay("once")).headers.get("idempotent-replayed")).toBe("true");
  },
);
