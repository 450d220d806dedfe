/**
 * A reconnect storm: many sessions hold a key each, all are cut at once, and all connect at once and ask for their keys
 * again. They connect as they did the first time, so that the difference is what those before them left to do.
 */

import type { Crew, Taken } from "./crew.ts";
import { timed } from "./gate.ts";
import type { Reconnect } from "./job.ts";
import { gaugesOf, untilEmpty } from "../servers/view.ts";

/** Handshakes under way at a time: above the servers' backlog (511) the kernel lets a client wait for a second, and workerd gets to none of them in time. */
const CONNECTING_MAX = 250;

export async function reconnectStorm(crew: Crew): Promise<Reconnect> {
  const { scenario, job, gate, record } = crew;
  const sessions = scenario.clients;
  gate.open();
  const first = await timed(() => connectAndTake(crew));

  const again = await timed(async () => {
    for (const taken of first.result) crew.crash(taken);
    return connectAndTake(crew);
  });
  const left = await gaugesOf(job.target.url);
  gate.close();
  const expected = { sessions, keys: sessions, holding: sessions, waiting: 0 };
  if (JSON.stringify(left) !== JSON.stringify(expected)) {
    throw new Error(`${sessions} hold again, and the server knows of ${JSON.stringify(left)}`);
  }
  record.scores = [again.ns];
  for (const [index, { granted }] of again.result.entries()) {
    record.releasing(granted, gate.nowNs());
    crew.clients[index]?.drop();
  }
  await untilEmpty(job.target.url);
  return { sessions, firstMs: first.ns / 1e6, againMs: again.ns / 1e6, left };
}

/** So many at a time, each on its own way from the handshake to its key. */
async function connectAndTake(crew: Crew): Promise<Taken[]> {
  const taken: Taken[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let client = next++; client < crew.scenario.clients; client = next++) {
      await crew.reconnect(client);
      taken[client] = await crew.take(client);
    }
  };
  await Promise.all(Array.from({ length: CONNECTING_MAX }, lane));
  return taken;
}
