/** A fleet from what somebody who runs a server chooses. */

import type { Clock, Mint } from "../host/ports.ts";
import type { HostChoices } from "../host/settings.ts";
import type { FleetChoices, OnError } from "../options.ts";
import type { Connector } from "./connector.ts";
import { Fleet } from "./fleet.ts";
import { deadlineMaxMs, fleetTimes, LEASE_MAX_MS, LEASE_MIN_MS, RETRY_MAX_MS, RETRY_MIN_MS } from "./limits.ts";
import { isRedisUrl } from "./redis-url.ts";
import { connectTcp } from "./tcp.ts";
import { connectUpstash } from "./upstash.ts";

export interface FleetPorts {
  readonly clock: Clock;
  readonly mint: Mint;
  readonly onError: OnError;
}

export interface OverConnector extends Omit<FleetChoices, "redis"> {
  readonly redis: Connector;
}

/** Throws a RangeError for what cannot work. Nothing is connected before the first use. */
export function openFleet(choices: FleetChoices | OverConnector, ports: FleetPorts): Fleet {
  const { redis, prefix, leaseMs, retryMs } = choices;
  demand(isWithin(leaseMs, LEASE_MIN_MS, LEASE_MAX_MS), "leaseMs must be 1000 to 60000");
  demand(isWithin(retryMs, RETRY_MIN_MS, RETRY_MAX_MS), "retryMs must be 50 to 1000");
  // Whoever brings a connection has looked at what is at its other end.
  const isTrusted = typeof redis === "object" && "run" in redis;
  return new Fleet({ ...ports, connector: connectorOf(redis), prefix, leaseMs, retryMs, isTrusted });
}

function connectorOf(redis: (FleetChoices | OverConnector)["redis"]): Connector {
  if (typeof redis === "string") {
    demand(isRedisUrl(redis), "redis must be an address as redis://host:port, or rediss://… for TLS");
    return connectTcp(redis);
  }
  return "run" in redis ? redis : connectUpstash(redis.url, redis.token);
}

/** Settings whose deadline and heartbeat go with the lease, where none are chosen. Throws a RangeError for a deadline that does not. */
export function withFleetTimes(choices: HostChoices, fleet: FleetChoices): HostChoices {
  const chosen = Object.fromEntries(Object.entries(choices).filter(([, value]) => value !== undefined)) as HostChoices;
  const complete = { ...fleetTimes(fleet), ...chosen };
  const maxMs = deadlineMaxMs(fleet);
  const fits = (complete.deadlineMs ?? 0) <= maxMs;
  demand(fits, `deadlineMs must be at most ${maxMs} in this fleet: 0.8 of its leaseMs less retryMs`);
  return complete;
}

function isWithin(value: number | undefined, min: number, max: number): boolean {
  return value === undefined || (Number.isSafeInteger(value) && value >= min && value <= max);
}

function demand(holds: boolean, message: string): void {
  if (!holds) throw new RangeError(message);
}
