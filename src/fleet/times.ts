/** Instants of Redis' clock, in effects, as instants of this process's clock. */

import type { Effect, Holder } from "../core/index.ts";
import type { Moment } from "./lease.ts";
import type { FleetEffect } from "./script.ts";

export class Times {
  /** What Redis' clock is ahead of ours by, at most: so what ends at a time seems to end no later here than it does there. */
  #aheadMs = 0;

  /** A call that was sent then was served at `serverNow`. */
  heard(sent: Moment, serverNow: number): void {
    this.#aheadMs = serverNow - sent.now;
  }

  /** Infinity stays. */
  local(instant: number): number {
    return instant - this.#aheadMs;
  }

  localized(effect: Exclude<FleetEffect, { kind: "moved" }>): Effect {
    switch (effect.kind) {
      case "granted":
        return effect.expiresAt === undefined ? effect : { ...effect, expiresAt: this.local(effect.expiresAt) };
      case "extended":
      case "started":
      case "attempt_extended":
        return { ...effect, expiresAt: this.local(effect.expiresAt) };
      case "resumed":
        return { ...effect, claims: effect.claims.map((claim) => this.#ending(claim)) };
      case "status":
        return { ...effect, holders: effect.holders.map((holder) => this.#holder(holder)) };
      case "list":
        return {
          ...effect,
          keys: effect.keys.map((key) => ({ ...key, holders: key.holders.map((holder) => this.#holder(holder)) })),
        };
      case "record_status": {
        const { record } = effect;
        if (record === undefined) return effect;
        const leaseUntil = record.leaseUntil === undefined ? undefined : { leaseUntil: this.local(record.leaseUntil) };
        return { ...effect, record: { ...this.#ending(record), ...leaseUntil } };
      }
      default:
        return effect;
    }
  }

  #holder(holder: Holder): Holder {
    return { ...this.#ending(holder), since: this.local(holder.since) };
  }

  #ending<T extends { readonly expiresAt?: number }>(told: T): T {
    return told.expiresAt === undefined ? told : { ...told, expiresAt: this.local(told.expiresAt) };
  }
}
