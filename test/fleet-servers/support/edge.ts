/** A program with the locks of a fleet in it, and no server: it does what it reads, line by line, and says what came of it. */

import process from "node:process";
import { createInterface } from "node:readline";
import { Redis } from "@upstash/redis";
import { fleet } from "../../../src/embedded-fleet.ts";
import type { Lock } from "../../../src/client/locks.ts";

const [leaseMs, prefix, url = "", token] = process.argv.slice(2);
const TTL_MS = 60_000;
// With whatever options that client has by itself.
const redis = token === undefined ? url : new Redis({ url, token });
const locks = fleet({ redis, prefix, leaseMs: Number(leaseMs) });
const held = new Map<string, Lock>();

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [what = "", key = "", timeout] = line.split(" ");
  carryOut(what, key, Number(timeout)).then(
    (outcome) => console.log(what, key, outcome),
    (error: Error) => console.log(what, key, error.name),
  );
});
console.log("ready");

async function carryOut(what: string, key: string, timeout: number): Promise<unknown> {
  switch (what) {
    case "acquire":
    case "renew": {
      const lock = await locks.acquire(key, { ttl: TTL_MS, timeout, renew: what === "renew" });
      held.set(key, lock);
      return lock.fence;
    }
    case "extend":
      return (await locks.extend(key, held.get(key)?.token ?? "", TTL_MS)).ttl;
    case "release":
      await held.get(key)?.release();
      return "released";
    case "once":
      return locks.idempotent(key, {}, () => "done");
    case "close":
      await locks.close();
      // What is read keeps a program alive by itself.
      lines.close();
      process.stdin.unref?.();
      return "closed";
    default:
      throw new Error(`what is ${what}?`);
  }
}
