import { echo, handOver, mutex, relay } from "./controls.ts";
import type { Driver } from "./driver.ts";
import { latchkeyHttp, latchkeyInProcess, latchkeySocket, polling } from "./latchkey.ts";
import { latchkeyRaw } from "./latchkey-raw.ts";

/** Peers are loaded when they are used: what a row measures has no other driver in its memory. */
const PEERS: Readonly<Record<string, () => Promise<Driver>>> = {
  "redis-list": async () => (await import("./redis.ts")).redisList,
  "redis-lua": async () => (await import("./redis-lua.ts")).redisLua,
  "redis-semaphore": async () => (await import("./redis.ts")).redisSemaphore,
  redlock5: async () => (await import("./redis.ts")).redlock5,
  redlock4: async () => (await import("./redis.ts")).redlock4,
  "upstash-lock": async () => (await import("./upstash.ts")).upstashLock,
  postgres: async () => (await import("./postgres.ts")).postgres,
  etcd: async () => (await import("./etcd.ts")).etcd,
  zookeeper: async () => (await import("./zookeeper.ts")).zookeeper,
};

const OWN: readonly Driver[] = [
  relay,
  handOver,
  echo,
  mutex,
  latchkeySocket,
  latchkeyRaw,
  latchkeyHttp,
  latchkeyInProcess,
  polling,
];

export async function driverOf(name: string): Promise<Driver> {
  const found = OWN.find((driver) => driver.name === name) ?? (await PEERS[name]?.());
  if (found === undefined) throw new Error(`there is no driver ${name}`);
  return found;
}
