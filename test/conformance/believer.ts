/**
 * A program with the real client and a lock, in a process of its own. It prints `holding <fence>`, and when it learns that it
 * must stop, `lost <reason> <wall clock>`.
 */

import { connect } from "../../src/client/index.ts";

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
console.log("holding", lock.fence);
