/**
 * ZooKeeper's recipe for locks, readers included: everybody makes a numbered node that ends with its session, and watches
 * only the one in front of it. One connection and one session a client.
 */

import {
  type Client,
  createClient,
  CreateMode,
  type Event as WatchedEvent,
  type Exception,
} from "node-zookeeper-client";
import { type Ask, type Driver, type Held, nothing } from "./driver.ts";

type Mode = NonNullable<Ask["mode"]>;

/** A session outlives its connection by this: a client that is cut is not noticed sooner, so `drop` is no drop. */
const SESSION_MS = 30_000;
const DIGITS = 10;

export const zookeeper: Driver = {
  name: "zookeeper",
  can: { shared: true, limit: false, drop: false, keys: true, quiet: true, ordered: true, clientsMax: 1024 },
  open: async ({ url, keys }) => {
    const first = await connected(url, () => undefined);
    for (const key of keys) await told<string>((done) => first.mkdirp(`/${key}`, done));
    first.close();
    return {
      connect: async (_index, broken) => {
        let isOver = false;
        const client = await connected(url, (what) => {
          if (!isOver) broken(new Error(`ZooKeeper: ${what}`));
        });
        return {
          acquire: (key, { mode = "exclusive" }) => acquire(client, `/${key}`, mode),
          drop: () => undefined,
          close: async () => {
            isOver = true;
            client.close();
          },
        };
      },
      close: nothing,
    };
  },
};

async function acquire(client: Client, folder: string, mode: Mode): Promise<Held> {
  const path = await told<string>((done) =>
    client.create(`${folder}/${mode}-`, Buffer.alloc(0), CreateMode.EPHEMERAL_SEQUENTIAL, done),
  );
  const ticket = numberOf(path);
  for (;;) {
    const nodes = await told<string[]>((done) => client.getChildren(folder, done));
    const inFront = lastBefore(ticket, mode, nodes);
    if (inFront === undefined) break;
    await gone(client, `${folder}/${inFront}`);
    // Not its turn yet, perhaps: whoever was in front may have given up. The recipe looks again.
  }
  // Readers are let in together and hear of it in any order: only writers can show in which order they came.
  return { ...(mode === "exclusive" && { ticket }), release: () => told<void>((done) => client.remove(path, done)) };
}

/** Whom to wait for: the last one before, for a reader the last writer before. */
function lastBefore(ticket: number, mode: Mode, nodes: readonly string[]): string | undefined {
  let found: string | undefined;
  for (const node of nodes) {
    if (mode === "shared" && node.startsWith("shared")) continue;
    const number = numberOf(node);
    if (number < ticket && (found === undefined || number > numberOf(found))) found = node;
  }
  return found;
}

/** Resolves when there is no such node. */
function gone(client: Client, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const watcher = (_event: WatchedEvent): void => resolve();
    client.exists(path, watcher, (error, stat) => {
      if (error) reject(asError(error));
      else if (!stat) resolve();
    });
  });
}

async function connected(url: string, ended: (what: string) => void): Promise<Client> {
  const client = createClient(new URL(url).host, { sessionTimeout: SESSION_MS, retries: 0 });
  await new Promise<void>((resolve) => {
    client.once("connected", resolve);
    client.connect();
  });
  for (const what of ["disconnected", "expired"]) client.once(what, () => ended(what));
  return client;
}

function told<T>(ask: (done: (error: Error | Exception | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, value) => {
      if (error) reject(asError(error));
      else resolve(value as T);
    });
  });
}

function asError(error: Error | Exception): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The server's own, at the end of a node's name. */
function numberOf(node: string): number {
  return Number(node.slice(-DIGITS));
}
