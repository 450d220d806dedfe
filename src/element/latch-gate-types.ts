/** What a page can do with a gate, and what a gate tells. */

import type { ClaimSnapshot } from "../claim-store/index.ts";
import type { By, KeyHolder, LossReason } from "../client/index.ts";

/**
 * Attributes: `key`; `mode` (`exclusive`, `shared`) and `limit`; `auto` (gets in line by itself), `requeue` (and again after a
 * loss that nobody wanted), `ttl` in ms, `meta` (JSON, or else a text). The attribute `state` is set by the gate, for style sheets.
 *
 * Slots: `held` is always shown, and inert unless the lock is held; `waiting` is shown in line and without a connection, `free` when
 * this page neither has the lock nor waits for it; what has no slot is always shown. Each has a part of its name to style.
 */
export interface LatchGate extends HTMLElement {
  /** State, position, who holds and who asks: another object only when something changed. */
  readonly snapshot: ClaimSnapshot;
  /** Gets in line. A gate without a key, or outside of a document, throws an `InvalidStateError`, as do all others. */
  acquire(): void;
  /** Lets go, or leaves the line, for all that share the claim. */
  release(): Promise<void>;
  /** Takes the lock from its holders, who are told the reason. Needs the permission. */
  steal(reason: string): Promise<void>;
  /** Asks the holder for the lock, from a place in line. */
  requestAccess(message?: string, options?: { readonly withdraw?: boolean }): Promise<void>;
  /** Ends this claim in favour of one who waits, past the line. */
  handTo(session: string): Promise<void>;

  addEventListener<Type extends keyof LatchGateEventMap>(
    type: Type,
    listener: (this: LatchGate, event: LatchGateEventMap[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

/** All of them bubble. */
export interface LatchGateEventMap extends HTMLElementEventMap {
  readonly lockacquired: CustomEvent<LockAcquiredDetail>;
  /** The lock ended otherwise than by its release; its content is inert already. */
  readonly locklost: CustomEvent<LockLostDetail>;
  /** Who holds the key, how many wait, or the own place among them is another one. */
  readonly lockqueue: CustomEvent<LockQueueDetail>;
}

export interface LockAcquiredDetail {
  readonly key: string;
  /** Give it to the resource that the lock protects. */
  readonly fence: number;
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal;
}

export interface LockLostDetail {
  readonly key: string;
  readonly reason: LossReason;
  readonly by: By | undefined;
}

export interface LockQueueDetail {
  readonly key: string;
  /** 1 = next. Absent: this page does not wait. */
  readonly position: number | undefined;
  readonly waiting: number;
  readonly holders: readonly KeyHolder[];
}
