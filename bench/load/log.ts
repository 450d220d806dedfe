/**
 * What one of several load generators saw, for the harness to put together: times by the machine's clock, which all
 * processes share.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Granted } from "./record.ts";

/** A grant, with the clients of this load generator numbered from 0. */
export interface GrantEntry {
  readonly client: number;
  readonly key: string;
  readonly isShared: boolean;
  readonly limit?: number | undefined;
  readonly ticket?: number | undefined;
  readonly fence?: number | undefined;
  readonly askedAtNs: number;
  /** Seen by the client, so never before the service gave it. */
  readonly atNs: number;
}

export interface ReleaseEntry {
  readonly client: number;
  readonly key: string;
  /** Before the service was told. */
  readonly releasedAtNs: number;
}

export type Entry = GrantEntry | ReleaseEntry;

export class Log {
  #entries: Entry[] = [];

  granted({ client, key, isShared, limit, ticket, fence }: Granted, askedAtNs: number): void {
    this.#entries.push({ client, key, isShared, limit, ticket, fence, askedAtNs, atNs: machineNs() });
  }

  releasing({ client, key }: Granted): void {
    this.#entries.push({ client, key, releasedAtNs: machineNs() });
  }

  /** All since the last time. */
  take(): readonly Entry[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }
}

/** Since the machine was started, the same in all processes of Node on it. */
export function machineNs(): number {
  return Number(process.hrtime.bigint());
}

/** A timer is late by up to a millisecond, so the last one is waited for by looking at the clock. */
export async function untilMachineNs(atNs: number): Promise<void> {
  await sleep(Math.max(0, Math.floor((atNs - machineNs()) / 1e6) - 1));
  while (machineNs() < atNs);
}
