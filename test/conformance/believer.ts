/**
 * A program with the real client, a lock and an attempt at idempotent work, in a process of its own. It prints `holding <fence>`,
 * and when it learns that it must stop, `lost <reason> <wall clock>` and `attempt <reason> <wall clock>`.
 */

import { type AttemptLostError, connect } from "../../src/client/idempotency.ts";

const [url = "", auth, key = ""] = process.argv.slice(2);
const client = connect(url, { auth });
const lock = await client.acquire(key);
lock.signal.addEventListener("abort", () => {
  const at = Date.now();
  lock.lost.then(
    ({ reason }) => console.log("lost", reason, at),
    () => undefined,
  );
});
const begun = await client.idempotency.begin(key, { lease: 60_000 });
if (begun.status !== "started") throw new Error("it is done");
const { signal } = begun;
signal.addEventListener("abort", () => console.log("attempt", (signal.reason as AttemptLostError).reason, Date.now()));
console.log("holding", lock.fence);
