/**
 * Which rows a run has that nothing more is asked of: every scenario and every subject, but not each in each. All of them
 * together take twice as long, and most of that says again what another row has said already. `--all` runs them.
 */

import type { Scenario } from "../scenarios.ts";
import type { Subject } from "./subjects.ts";

/** Our servers without what a client costs, and the peers that queue as they do: in almost all that they can. */
const EVERYWHERE: readonly string[] = [
  "bun ws-raw",
  "deno ws-raw",
  "node ws-raw",
  "workerd ws-raw",
  "redis-list",
  "redis-lua",
  "postgres",
];

/** On workerd these take many times as long as on the others, and say what the rest of its rows do. */
const BUT_NOT: Readonly<Record<string, readonly string[]>> = {
  "workerd ws-raw": ["drain 1024", "open loop 50 %", "drop storm", "reconnect storm"],
};

/** Beside them, where it shows what it is: a client's own cost, a wait over HTTP, agreement on a disk, barging, pauses. */
const ALSO: Readonly<Record<string, readonly string[] | "all">> = {
  "uncontended 1": [
    "bun ws",
    "bun http",
    "bun in-process",
    "redis-semaphore",
    "redlock5",
    "upstash-lock",
    "etcd",
    "zookeeper",
  ],
  "uncontended 128": ["bun ws", "deno ws", "node ws", "etcd", "zookeeper"],
  "hot key 2": ["bun ws", "bun http"],
  "hot key 16": "all",
  "hot key 128": ["bun ws", "bun http", "polling (bun http)", "redis-semaphore", "redlock5", "etcd", "zookeeper"],
  "hot key 1024": ["bun ws"],
  "held 1 ms": ["polling (bun http)", "redis-semaphore", "redlock5"],
  "readers and a writer": ["bun ws", "zookeeper"],
  "semaphore of 4": ["bun ws"],
  "zipf 64 keys": ["bun ws", "bun in-process", "etcd"],
  "drain 128": ["bun ws", "bun http", "redis-semaphore", "redlock5", "redlock4", "etcd", "zookeeper"],
  "drain 1024": ["bun ws", "zookeeper"],
};

export function isByDefault({ name }: Scenario, subject: Subject): boolean {
  const also = ALSO[name] ?? [];
  if (also === "all" || also.includes(subject.name)) return true;
  return EVERYWHERE.includes(subject.name) && !(BUT_NOT[subject.name] ?? []).some((start) => name.startsWith(start));
}
