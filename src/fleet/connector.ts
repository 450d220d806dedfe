/** The little that a fleet needs of Redis, over TCP or over REST. */

import { FleetError } from "./error.ts";

export interface Connector {
  /**
   * Runs a script that replies with JSON, and gives that. Connects first where that is needed. Rejects
   * with a FleetError, in no more than `CALL_MAX_MS`; what was sent may run later all the same.
   */
  run(call: ScriptCall): Promise<string>;
  /** Listens until it is closed, over all interruptions. What is published while it is interrupted is lost. */
  subscribe(channel: string, listener: Listener): Subscription;
  /** What kind of Redis it is. Rejects with a FleetError. */
  inspect(): Promise<Inspection>;
  /** A second time does nothing. */
  close(): Promise<void>;
}

export interface ScriptCall {
  readonly script: string;
  /** All of one hash slot. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

export interface Listener {
  message(text: string): void;
  /** From now on it listens, again: what was published before may have been missed. */
  listening(): void;
}

export interface Subscription {
  /** It seems to hear nothing any more: it subscribes anew. */
  renew(): void;
  close(): void;
}

export interface Inspection {
  /** Whether what was written survives a restart of Redis, as far as it tells. */
  readonly durable: boolean;
}

/** A call that has no answer after this long counts as lost. */
export const CALL_MAX_MS = 2000;

/** Waits of reconnects, ms: each as long as the one before doubled, up to a second, and never two processes together. */
export function backoffMs(failures: number): number {
  return Math.min(25 * 2 ** Math.min(failures, 6), 1000) * (0.5 + Math.random() / 2);
}

/** Reads Redis' answer to INFO. Throws for a Redis that would drop locks by itself or takes no writes. */
export function inspected(text: string): Inspection {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(text)?.[1];
  const policy = field("maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction") {
    throw new FleetError(
      "unsuitable",
      `Redis may drop keys when it is full (maxmemory-policy ${policy}), and locks with them: set maxmemory-policy noeviction`,
    );
  }
  if ((field("role") ?? "master") !== "master") {
    throw new FleetError("replica", "this Redis is a replica and takes no writes: give the address of its master");
  }
  return { durable: field("aof_enabled") !== "0" };
}

/** Scripts by the hash that Redis knows them by. */
export class Scripts {
  readonly #hashes: Map<string, Promise<string>> = new Map();

  /** EVALSHA, and EVAL where Redis does not know the script (any more): that loads it. `send` rejects with Redis' own error. */
  async run(send: (command: "EVALSHA" | "EVAL", script: string) => Promise<unknown>, script: string): Promise<unknown> {
    let hash = this.#hashes.get(script);
    if (hash === undefined) {
      hash = sha1(script);
      this.#hashes.set(script, hash);
    }
    try {
      return await send("EVALSHA", await hash);
    } catch (error) {
      if (!(error instanceof Error) || !/^(?:Command failed: )?NOSCRIPT/.test(error.message)) throw error;
      return send("EVAL", script);
    }
  }
}

/** Rejects when it takes too long. */
export async function inTime<T>(work: Promise<T>, maxMs: number = CALL_MAX_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new FleetError("unreachable", "Redis did not answer in time")), maxMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
