/** What workerd's own connections tell of a caller that is gone, where there was no time to notice. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Child } from "../conformance/child.ts";
import { temporaryFolder } from "../conformance/server.ts";
import { bundleWorker, startWorker } from "./own-worker.ts";

const ROUNDS = 50;
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
);
`;

interface Status {
  readonly waiting: number;
  /** Of each answer, in their order: whether it was delivered. */
  readonly told: readonly boolean[];
}

const folder = temporaryFolder();
let child: Child;
let port = 0;

beforeAll(async () => {
  await bundleWorker(new URL("./answering-worker.ts", import.meta.url), folder.path, CONFIG);
  ({ child, port } = await startWorker(folder.path));
}, 60_000);

afterAll(async () => {
  await child?.kill();
  folder.remove();
});

async function ask(path: string): Promise<Status> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return (await response.json()) as Status;
}

async function until(isSo: (status: Status) => boolean): Promise<Status> {
  for (;;) {
    const status = await ask("/status");
    if (isSo(status)) return status;
  }
}

/** A caller that waits for an answer. */
async function call(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nhost: worker\r\n\r\n");
  await until(({ waiting }) => waiting === 1);
  return socket;
}

async function end(socket: Socket): Promise<void> {
  const closed = once(socket, "close");
  socket.destroy();
  await closed;
}

test("no answer to a caller that was gone before is taken for delivered, however little time there was to notice", async () => {
  const { told: before } = await ask("/status");
  for (let round = 1; round <= ROUNDS; round++) {
    await end(await call());
    await ask("/go");
    await until(({ told }) => told.length === before.length + round);
  }
  const { told } = await ask("/status");
  expect(told.slice(before.length)).toEqual(Array.from({ length: ROUNDS }, () => false));
});

test("an answer to a caller that is there is delivered", async () => {
  const { told: before } = await ask("/status");
  const answered = fetch(`http://127.0.0.1:${port}/`);
  await until(({ waiting }) => waiting === 1);
  await ask("/go");
  expect(await (await answered).json()).toEqual({ status: "acquired" });
  const { told } = await until((status) => status.told.length > before.length);
  expect(told.at(-1)).toBe(true);
});

test("an answer whose text a caller had whole is delivered, also when the caller did not wait for its end", async () => {
  const { told: before } = await ask("/status");
  for (let round = 1; round <= ROUNDS; round++) {
    const socket = await call();
    let text = "";
    const isWhole = new Promise<void>((resolve) => {
      socket.on("data", (bytes) => {
        text += bytes.toString();
        if (text.includes("}")) resolve();
      });
    });
    await ask("/go");
    await isWhole;
    await end(socket);
    await until(({ told }) => told.length === before.length + round);
  }
  const { told } = await ask("/status");
  expect(told.slice(before.length)).toEqual(Array.from({ length: ROUNDS }, () => true));
});
