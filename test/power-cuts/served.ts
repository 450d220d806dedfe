/**
 * A server's store in a process of its own, to be traced: commits, and then sweeps what has expired, as the host does, and commits in
 * between.
 * Says "begun" when all of what it begins with is on the disk, the number of each commit once it is made, and "swept" at the end.
 */

import { writeSync } from "node:fs";
import type { FileOptions } from "../../src/stores/file.ts";
import type { SqliteStore } from "../../src/stores/sqlite.ts";
import { Random } from "../simulation/random.ts";
import { done, recordChange } from "../stores/idempotency.ts";
import { batch, holding } from "../stores/records.ts";

interface Opened {
  readonly openSqlite: (path: string, options: FileOptions) => SqliteStore;
}

/** All of these expire, but for every tenth. */
const RECORDS = 1500;
const COMMITS = 100;
/** These come before the sweep. */
const COMMITS_FIRST = 60;
const RESULT = new Uint8Array(400);

const [sources = "", path = "", sync = "", seed = "1"] = process.argv.slice(2);
const name = "Bun" in globalThis ? "bun-sqlite" : "node-sqlite";
const { openSqlite } = (await import(`${sources}/stores/${name}.ts`)) as Opened;
const clock = { now: () => performance.now(), wall: () => Date.now() };
const open = (): SqliteStore => openSqlite(path, { clock, sync: sync as "normal" | "full" });
const random = new Random(Number(seed));

const first = open();
const later = clock.now() + 1_000_000;
const images = Array.from({ length: RECORDS }, (_, i) =>
  i % 10 === 0
    ? done(`${Math.imul(i, 0x9e3779b1) >>> 0} kept`, later + 1_000_000, RESULT)
    : done(`${Math.imul(i, 0x9e3779b1) >>> 0} gone`, later - 1000, RESULT),
);
await first.commit("default", batch(...images.map(recordChange)));
await first.close();
const store = open();
const say = (line: string): void => void writeSync(1, `${line}\n`);
say("begun");

let underWay: Promise<void> | undefined;
let count = 0;
for (let next = later; next <= later || count < COMMITS || underWay !== undefined;) {
  if (next <= later && count >= COMMITS_FIRST) next = store.sweep(later, 10);
  if (underWay === undefined && count < COMMITS && random.chance(0.6)) {
    const number = ++count;
    // Anywhere among the others: on a page that the log does not have yet.
    const live = done(`${Math.imul(-number, 0x9e3779b1) >>> 0} live`, later + 1_000_000, RESULT);
    const { changes } = batch(
      { kind: "claim", claim: holding(2 * number) },
      { kind: "claim", claim: holding(2 * number + 1) },
      recordChange(live),
    );
    const made = store.commit("default", { changes, changeCount: changes.length });
    if (made instanceof Promise) {
      underWay = made.then(() => {
        underWay = undefined;
        say(String(number));
      });
    } else {
      say(String(number));
    }
  }
  // Sometimes several turns pass while another thread flushes, and sometimes none.
  await new Promise((resolve) => (random.chance(0.5) ? setImmediate(resolve) : setTimeout(resolve, 1)));
}
say("swept");
await store.close();
