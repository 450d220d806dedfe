/**
 * A fleet's locks in a program that is no server, such as an edge function: the interface of the HTTP client, whose server is in the
 * program itself. What it lets go is pushed to whoever waits, on any server of the fleet.
 */

import { systemPorts } from "./client/clock.ts";
import { asyncDispose } from "./client/dispose.ts";
import { SessionClosedError } from "./client/errors.ts";
import { type HttpClient, httpClient } from "./client/http-client.ts";
import type { Fetch } from "./client/http-request.ts";
import { endableTimers } from "./client/timers.ts";
import { once } from "./ending.ts";
import type { Fleet } from "./fleet/fleet.ts";
import { openFleet } from "./fleet/open.ts";
import { connectOver, type UpstashRedis } from "./fleet/upstash.ts";
import { createAlarm } from "./host/alarm.ts";
import { TRUSTED } from "./host/auth.ts";
import { systemClock } from "./host/clock.ts";
import { Host } from "./host/host.ts";
import { createMint } from "./host/mint.ts";
import type { FleetChoices, OnError } from "./options.ts";
import { createMemoryStore } from "./stores/memory.ts";

export type { Attempt, IdempotentOptions } from "./client/idempotency-calls.ts";
export type { HttpAcquireOptions } from "./client/http-client.ts";
export type { Extension, Lock, ReleaseResult } from "./client/locks.ts";
export type { UpstashRedis } from "./fleet/upstash.ts";

export interface FleetOptions extends Omit<FleetChoices, "redis"> {
  /** A `Redis` of `@upstash/redis`, whatever its options; or a place as servers have it. It must not drop keys when it is full. */
  readonly redis: UpstashRedis | FleetChoices["redis"];
  /** Default `default`. */
  readonly space?: string | undefined;
  /** Hears of failures that no call can report. Default: nobody. */
  readonly onError?: OnError | undefined;
}

export interface FleetClient extends HttpClient, AsyncDisposable {
  /**
   * Whoever waits is sent away with a `SessionClosedError`, as is every later call; what is held stays until its lease ends, renewed no
   * more. Nothing is left open that keeps a program from its end.
   */
  close(): Promise<void>;
}

/** Nothing is sent, and nothing random made, before the first call: it may be made where a program only loads. */
export function fleet(options: FleetOptions): FleetClient {
  const { space, onError = () => undefined } = options;
  const clock = systemClock;
  const mint = createMint();
  const shared = openShared(options, { clock, mint, onError });
  const alarm = createAlarm(clock, () => host.woken());
  const store = { ...createMemoryStore(clock), close: () => shared.close() };
  const host = new Host({ clock, alarm, mint, store, onError, fleet: shared });
  let isClosing = false;
  const timers = endableTimers(systemPorts);
  const fetch: Fetch = async (url, init) => {
    if (isClosing) throw new SessionClosedError();
    const response = await host.fetch(new Request(url, init), TRUSTED);
    // Who is sent away now would come again, and nobody would be there.
    if (isClosing && response.status === 503) throw new SessionClosedError();
    return response;
  };
  const client = httpClient("http://localhost", { space, onError, fetch }, timers.ports);
  const close = once(async () => {
    isClosing = true;
    await host.drain();
    alarm.stop();
    timers.end();
  });
  return Object.assign(client, { close, [asyncDispose]: close }) as FleetClient;
}

function openShared({ redis, ...choices }: FleetOptions, ports: Parameters<typeof openFleet>[1]): Fleet {
  if (typeof redis === "object" && "evalsha" in redis) {
    return openFleet({ ...choices, redis: connectOver(() => redis) }, ports);
  }
  return openFleet({ ...choices, redis }, ports);
}
