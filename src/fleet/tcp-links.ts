/** Connections by the package `redis`: to one Redis, or to a cluster. */

import type * as RedisPackage from "redis";
import { backoffMs, CALL_MAX_MS, inTime } from "./connector.ts";
import { FleetError } from "./error.ts";

type Redis = typeof RedisPackage;

/** One connection, or one client of a cluster. */
export interface Link {
  readonly isOpen: boolean;
  send(firstKey: string | undefined, args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (text: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  destroy(): void;
}

/** The package is optional: whoever has no fleet does not need it. */
export async function loadRedis(): Promise<Redis> {
  try {
    return await import("redis");
  } catch {
    throw new FleetError("unsuitable", "a fleet over TCP needs the package redis: npm install redis");
  }
}

/** Reconnecting is ours: a command that waited in a queue of the client would be sent when nobody believes in it any more. */
export async function openClient({ createClient }: Redis, url: string, onLost: (link: Link) => void): Promise<Link> {
  const client = createClient({ url, ...clientOptions(false) });
  const link: Link = {
    get isOpen() {
      return client.isReady;
    },
    send: (_firstKey, args) => client.sendCommand(args),
    subscribe: (channel, listener) => client.subscribe(channel, listener),
    unsubscribe: (channel) => client.unsubscribe(channel),
    destroy: () => client.destroy(),
  };
  client.on("error", () => onLost(link));
  try {
    await inTime(client.connect());
    return link;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** `masters`: where it may be found, and where it was. Its connections to single masters come and go while the others work on, so here the client reconnects. */
export async function openCluster({ createCluster }: Redis, url: string, masters: Set<string>): Promise<Link> {
  const { username, password, protocol } = new URL(url);
  const credentials = {
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
  };
  const { RESP, socket, ...others } = clientOptions(backoffMs);
  const tls = protocol === "rediss:" ? { tls: true } : undefined;
  const defaults = {
    ...others,
    ...credentials,
    socket: { ...socket, ...tls } as RedisPackage.RedisClientOptions["socket"] & object,
  };
  const rootNodes = [url, ...masters].map((root) => ({ url: root }));
  const cluster = createCluster({ RESP, rootNodes, defaults });
  cluster.on("error", () => undefined);
  try {
    await inTime(cluster.connect());
    for (const { address } of cluster.masters) masters.add(`${protocol}//${address}`);
  } catch (error) {
    cluster.destroy();
    throw error;
  }
  return {
    get isOpen() {
      return cluster.isOpen;
    },
    send: (firstKey, args) => cluster.sendCommand(firstKey, false, [...args]),
    subscribe: (channel, listener) => cluster.subscribe(channel, listener),
    unsubscribe: (channel) => cluster.unsubscribe(channel),
    destroy: () => cluster.destroy(),
  };
}

function clientOptions(reconnectStrategy: false | ((failures: number) => number)) {
  return {
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    socket: { connectTimeout: CALL_MAX_MS, reconnectStrategy },
  } as const;
}
