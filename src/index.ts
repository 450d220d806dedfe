/**
 * Locks within one process, on any runtime, in memory: the interface and the rules of a server without one. For a server, or
 * locks that survive a restart, use the entry of your runtime: `latchkey/bun`, `latchkey/deno` or `latchkey/node`.
 */

import { createCore, type Embedded } from "./latchkey.ts";
import type { LatchkeyOptions } from "./options.ts";

export type { Client } from "./client/connect.ts";
export type { IdempotentClient } from "./client/idempotency.ts";
export type { Attempt, Idempotency, IdempotencyCalls, IdempotentOptions } from "./client/idempotency-calls.ts";
export type { AcquireOptions, Lock, Locks, LockSet } from "./client/locks.ts";
export type { ApiKey, Permission } from "./host/settings.ts";
export type { Embedded } from "./latchkey.ts";
export type { LocalOptions } from "./local.ts";
export type { LatchkeyOptions, OnError, RunningServer, ServeOptions } from "./options.ts";

export function createLatchkey(options: Omit<LatchkeyOptions, "db" | "idempotencyDb" | "sync"> = {}): Embedded {
  return createCore(options, () => {
    throw new Error("an SQLite file needs the entry of a runtime");
  }).embedded;
}
