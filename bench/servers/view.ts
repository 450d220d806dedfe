/** What a Latchkey server says of itself. */

import { setTimeout as sleep } from "node:timers/promises";
import { monotonicNs } from "../load/gate.ts";
import type { Gauges } from "../load/job.ts";

const EMPTY_MS_MAX = 30_000;
const PAUSE_MS = 2;

export async function gaugesOf(url: string): Promise<Gauges> {
  const page = await (await fetch(addressOf(url, "/metrics"))).text();
  return {
    sessions: gauge(page, "sessions"),
    keys: gauge(page, "keys"),
    holding: gauge(page, "holding"),
    waiting: gauge(page, "waiting"),
  };
}

/** Throws when something is left after half a minute. */
export async function untilEmpty(url: string): Promise<void> {
  const until = monotonicNs() + EMPTY_MS_MAX * 1e6;
  for (;;) {
    const left = await gaugesOf(url);
    if (left.sessions === 0 && left.keys === 0) return;
    if (monotonicNs() > until) throw new Error(`something was left behind: ${JSON.stringify(left)}`);
    await sleep(PAUSE_MS);
  }
}

/** Throws when somebody holds it or waits for it after half a minute. */
export async function untilFree(url: string, key: string): Promise<void> {
  const until = monotonicNs() + EMPTY_MS_MAX * 1e6;
  for (;;) {
    const answer = await fetch(addressOf(url, `/v1/latch/${encodeURIComponent(key)}`));
    const { status, waiting } = (await answer.json()) as { readonly status: string; readonly waiting: number };
    if (status === "free" && waiting === 0) return;
    if (monotonicNs() > until) throw new Error(`a key was left behind: ${status}, ${waiting} waiting`);
    await sleep(PAUSE_MS);
  }
}

function gauge(page: string, name: string): number {
  return Number(new RegExp(`^latchkey_${name} (\\d+)`, "m").exec(page)?.[1] ?? Number.NaN);
}

function addressOf(url: string, path: string): URL {
  const address = new URL(path, url);
  address.protocol = address.protocol.replace("ws", "http");
  return address;
}
