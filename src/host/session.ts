/** What an open session asks and is told: frames become commands, effects become frames. */

import type { Effect } from "../core/index.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { ServerFrame, Welcome } from "../protocol/server-frames.ts";
import { partOf } from "../protocol/spread.ts";
import { type Credential, isPermitted } from "./auth.ts";
import { type AskingFrame, commandOf, permissionFor } from "./commands.ts";
import { idempotencyCommandOf, isIdempotencyFrame } from "./idempotency-commands.ts";
import type { HostParts } from "./parts.ts";
import type { Switchboard } from "./switchboard.ts";
import { type Listener, SessionWatches, type WatchMemory } from "./watch/session-watches.ts";
import { refusedFrame, type Told } from "./wire.ts";

export interface SessionFacts {
  /** Public. */
  readonly id: string;
  /** Resumes the session. */
  readonly secret: string;
  readonly space: string;
  readonly credential: Credential;
  readonly hasHeartbeat: boolean;
}

/** The connection that speaks for the session. */
interface Line {
  readonly outlet: Listener["outlet"];
  /** What is kept of the session is another than before. */
  remember(): void;
}

export class Session {
  readonly facts: SessionFacts;
  readonly board: Switchboard;
  /** As granted: a resumed session keeps the one that it was opened with. */
  graceMs: number;
  readonly #parts: HostParts;
  readonly #line: Line;
  /** Made with the first watch. */
  #watches: SessionWatches | undefined;
  /** It has claims from before that this host may not have seen come about. */
  #isOlder = false;
  /** When each waiting acquire was queued, for the metrics. Made with the first one. */
  #queuedAt: Map<string, number> | undefined;

  constructor(facts: SessionFacts, graceMs: number, board: Switchboard, parts: HostParts, line: Line) {
    this.facts = facts;
    this.graceMs = graceMs;
    this.board = board;
    this.#parts = parts;
    this.#line = line;
  }

  welcome(effect: Extract<Effect, { kind: "opened" | "resumed" }>): Welcome {
    const { settings, store, wire } = this.#parts;
    const { id, secret, space, hasHeartbeat, credential } = this.facts;
    if (effect.kind === "resumed") {
      this.graceMs = effect.graceMs;
      this.#isOlder = true;
    }
    const welcome = {
      t: "welcome",
      v: PROTOCOL_VERSION,
      session: id,
      secret,
      space,
      epoch: this.board.port.epoch ?? store.epoch,
      durable: store.durable,
      ping: hasHeartbeat ? settings.heartbeatMs : 0,
      deadline: hasHeartbeat ? settings.deadlineMs : 0,
      grace: this.graceMs,
      ...(credential.user === undefined ? undefined : { user: credential.user }),
      ...this.#parts.share,
    } as const;
    if (effect.kind === "opened") return { ...welcome, resumed: false };
    return { ...welcome, resumed: true, claims: effect.claims.map((claim) => wire.claim(claim)) };
  }

  /** Submits what the frame asks for; gives the answer where the host can give it alone. */
  ask(frame: AskingFrame): ServerFrame | undefined {
    const { keys, mint, share } = this.#parts;
    if (
      share !== undefined &&
      "key" in frame &&
      frame.key !== undefined &&
      partOf(frame.key, share.spread) !== share.part
    ) {
      const detail = `this connection is for part ${share.part} of ${share.spread}, and the key belongs to another`;
      return refusedFrame(frame.id, "misdirected", detail);
    }
    const permission = permissionFor(frame);
    if (permission !== undefined && !isPermitted(this.facts.credential, permission)) {
      return refusedFrame(frame.id, "forbidden", `this API key has not the permission to ${permission}`);
    }
    if (frame.t === "watch") return this.#watching().watch(frame);
    if (frame.t === "unwatch") return this.#watching().unwatch(frame.id);
    const { id } = this.facts;
    if (isIdempotencyFrame(frame)) {
      const command = idempotencyCommandOf(frame, id, this.#parts);
      if (command.kind === undefined) return refusedFrame(frame.id, command.code, command.detail);
      this.board.port.submit(command);
    } else {
      this.board.port.submit(commandOf(frame, id, keys, mint));
    }
    return undefined;
  }

  /** It was opened in an earlier life of this program. */
  goOn(watches: readonly WatchMemory[]): void {
    this.#isOlder = true;
    if (watches.length > 0) this.#watching().goOn(watches);
  }

  /** Undefined: nothing. */
  watched(): readonly WatchMemory[] | undefined {
    const watches = this.#watches?.remembered() ?? [];
    return watches.length === 0 ? undefined : watches;
  }

  /** Its connection is over, and with it what it watches. */
  over(): void {
    this.#watches?.over();
  }

  bye(): void {
    this.board.port.submit({ kind: "bye", session: this.facts.id });
  }

  tell(effect: Told): ServerFrame | undefined {
    this.#observe(effect);
    return this.#parts.wire.frame(effect);
  }

  #watching(): SessionWatches {
    this.#watches ??= new SessionWatches(this.#parts, this.board.watches, {
      session: this.facts.id,
      outlet: this.#line.outlet,
      onChanged: () => this.#line.remember(),
      mayWait: () => this.#isOlder || (this.#queuedAt?.size ?? 0) > 0,
    });
    return this.#watches;
  }

  #observe(effect: Told): void {
    if (effect.kind === "queued") {
      this.#queuedAt ??= new Map();
      this.#queuedAt.set(effect.request, this.#parts.clock.now());
    } else if (effect.kind === "granted" || effect.kind === "ended") {
      const queuedAt = this.#queuedAt?.get(effect.request);
      if (queuedAt !== undefined) this.#queuedAt?.delete(effect.request);
      if (effect.kind !== "granted" || effect.reentrant) return;
      this.#parts.metrics.waited(queuedAt === undefined ? 0 : this.#parts.clock.now() - queuedAt);
    }
  }
}
