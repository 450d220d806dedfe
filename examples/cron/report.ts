/**
 * A job that cron starts on every server at the same minute, and that one of them runs. Start it three times to see it:
 *
 *   npm start &
 *   for server in 1 2 3; do node examples/cron/report.ts & done; wait
 *
 * Each run of the job is a key of its own, which nobody waits for: who comes second has nothing to do. The lock is kept
 * when the job is done, until its lease ends, since a server whose clock is late will still ask for it.
 */

import { httpClient } from "latchkey/client/http";

const { LATCHKEY_URL = "http://127.0.0.1:8787" } = process.env;
const [day = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);

/** Longer than the job takes, and than the clocks of any two servers can differ. */
const LEASE_MS = 60 * 60 * 1000;

const locks = httpClient(LATCHKEY_URL);
const lock = await locks.tryAcquire(`cron/report/${day}`, { ttl: LEASE_MS });

if (lock === null) {
  console.log(`another server has the report of ${day}`);
} else {
  try {
    await report(day);
  } catch (error) {
    // Not done: let another server, or the next start, have it.
    await lock.release();
    throw error;
  }
}

async function report(of: string): Promise<void> {
  console.log(`this server makes the report of ${of}`);
}
