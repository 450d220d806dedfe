/**
 * Many sessions hold one lock each, as many claims wait for those, and all that hold are cut at once: how long until every
 * lock is granted on, and until nothing is left of anybody. On the way, what each costs in memory. A driver without keys
 * (the relay) only connects: that is the memory of a bare socket.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { BenchClient } from "../drivers/driver.ts";
import { usageOf } from "../servers/proc.ts";
import type { Crew } from "./crew.ts";
import { timed } from "./gate.ts";
import type { Storm } from "./job.ts";
import { untilEmpty } from "../servers/view.ts";

/** One session in this many waits, for as many keys. */
const CLAIMS_PER_WAITER = 100;
const SETTLE_MS = 300;

export async function storm(crew: Crew): Promise<Storm> {
  const { scenario, driver, job, record } = crew;
  const sessions = scenario.clients;
  const memory = memoryOf(job.serverPid);
  await memory.mark();
  await crew.connect(sessions);
  const bytesPerSession = await memory.grown(sessions);
  if (!driver.can.keys) return { sessions, ...bytesPerSession("bytesPerSession") };

  crew.gate.open();
  const acquireNs = await timed(() => Promise.all(crew.clients.map((_client, index) => crew.take(index))));
  const taken = acquireNs.result;
  const bytesPerHolder = await memory.grown(sessions);

  await crew.connect(sessions + Math.ceil(sessions / CLAIMS_PER_WAITER));
  await memory.mark();
  const waiters = crew.clients.slice(sessions);
  let granted = 0;
  const waits = job.target.keys.slice(0, sessions).map(async (key, index) => {
    await (waiters[index % waiters.length] as BenchClient).acquire(key, {});
    granted += 1;
    crew.steps += 1;
  });
  // The answer to a later frame shows that the earlier ones have been served.
  for (const [index, waiter] of waiters.entries()) await waiter.acquire(`${job.target.row}:barrier${index}`, {});
  const bytesPerWaiter = await memory.grown(sessions);
  record.violations += granted;

  const cut = await timed(() => {
    for (const hold of taken) crew.crash(hold);
    return Promise.all(waits);
  });
  record.cycles = sessions;
  record.scores = [cut.ns];
  const emptied = await timed(() => {
    for (const waiter of waiters) waiter.drop();
    return untilEmpty(job.target.url);
  });
  return {
    sessions,
    acquireMs: acquireNs.ns / 1e6,
    grantedOnMs: cut.ns / 1e6,
    emptyMs: emptied.ns / 1e6,
    ...bytesPerSession("bytesPerSession"),
    ...bytesPerHolder("bytesPerHolder"),
    ...bytesPerWaiter("bytesPerWaiter"),
  };
}

/** Resident memory grows in steps and is given back late: what it says of thousands together is rough, of one nothing. */
function memoryOf(pid: number | undefined) {
  let last: number | undefined;
  const read = async (): Promise<number | undefined> => {
    await sleep(SETTLE_MS);
    return pid === undefined ? undefined : usageOf(pid)?.residentBytes;
  };
  return {
    mark: async (): Promise<void> => {
      last = await read();
    },
    grown: async (count: number) => {
      const now = await read();
      const each = now === undefined || last === undefined ? undefined : (now - last) / count;
      last = now;
      return <Name extends string>(name: Name): { readonly [N in Name]?: number } =>
        (each === undefined ? {} : { [name]: each }) as { readonly [N in Name]?: number };
    },
  };
}
