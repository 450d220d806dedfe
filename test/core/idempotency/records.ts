import {
  type Begin,
  type Change,
  type Command,
  type Effect,
  Machine,
  type MachineOptions,
  Outbox,
  type RecordImage,
  type SpaceImage,
  type WaiterImage,
} from "../../../src/core/index.ts";

type BeginOptions = Partial<Omit<Begin, "kind" | "from" | "request" | "key">>;

/**
 * A machine with a clock that the test turns and a store that never fails, with short words for commands about records. Every command
 * returns the effects of its step. The attempt that request `r` of `from` may start is `from/r`; callers are named `@…`.
 */
export class Records {
  now = 0;
  machine: Machine;
  readonly stored: Map<string, RecordImage> = new Map();
  readonly waiters: Map<number, WaiterImage> = new Map();
  readonly #options: MachineOptions;
  readonly #outbox = new Outbox();
  #requests = 0;

  constructor(options: MachineOptions = {}) {
    this.#options = options;
    this.machine = new Machine(options);
  }

  step(command: Command): Effect[] {
    this.#outbox.clear();
    this.machine.step(command, this.now, this.#outbox);
    return this.#commit();
  }

  /** Everything in memory is gone; what is stored comes back. Sessions do not. */
  restart(image: Partial<SpaceImage> = {}): Effect[] {
    this.#outbox.clear();
    this.machine = new Machine(this.#options);
    const records = [...this.stored.values()].filter(({ state }) => state === "running");
    const waiters = [...this.waiters.values()];
    this.machine.restore({ claims: [], sessions: [], records, waiters, ...image }, this.now, this.#outbox);
    return this.#commit();
  }

  /** What the latest step changed. */
  get changes(): readonly Change[] {
    return this.#outbox.changes.slice(0, this.#outbox.changeCount);
  }

  at(now: number): Effect[] {
    this.now = now;
    return this.step({ kind: "tick" });
  }

  open(session: string, graceMs = 0): Effect[] {
    return this.step({ kind: "open", session, secret: "secret", graceMs });
  }

  drop(session: string): Effect[] {
    return this.step({ kind: "drop", session });
  }

  begin(from: string, request: string, key: string, options: BeginOptions = {}): Effect[] {
    return this.step({
      kind: "begin",
      from,
      request,
      key,
      session: !from.startsWith("@"),
      fingerprint: "f",
      ttlMs: 3_600_000,
      leaseMs: 30_000,
      waitMs: 0,
      newAttempt: `${from}/${request}`,
      ...this.#found(key),
      ...options,
    });
  }

  /** A begin that waits for a minute. */
  wait(from: string, request: string, key: string, options: BeginOptions = {}): Effect[] {
    return this.begin(from, request, key, { waitMs: 60_000, ...options });
  }

  complete(key: string, attempt: string, text = "done", contentType = "text/plain", from = "@x"): Effect[] {
    const result = new TextEncoder().encode(text);
    return this.step({ kind: "complete", ...this.#asked(from, key), attempt, result, contentType });
  }

  fail(key: string, attempt: string): Effect[] {
    return this.step({ kind: "fail", ...this.#asked("@x", key), attempt });
  }

  extend(key: string, attempt: string, leaseMs: number): Effect[] {
    return this.step({ kind: "extend_attempt", ...this.#asked("@x", key), attempt, leaseMs });
  }

  forget(key: string, attempt?: string): Effect[] {
    const shown = attempt === undefined ? {} : { attempt };
    return this.step({ kind: "forget", ...this.#asked("@x", key), ...shown });
  }

  status(key: string): Effect[] {
    return this.step({ kind: "record_status", ...this.#asked("@x", key) });
  }

  cancel(from: string, request: string): Effect[] {
    return this.step({ kind: "cancel_begin", from, request });
  }

  #asked(from: string, key: string): { from: string; request: string; key: string; found?: RecordImage } {
    return { from, request: `${++this.#requests}`, key, ...this.#found(key) };
  }

  #found(key: string): { found?: RecordImage } {
    const found = this.machine.needsFound(key) ? this.stored.get(key) : undefined;
    return found === undefined ? {} : { found };
  }

  #commit(): Effect[] {
    for (const change of this.changes) {
      if (change.kind === "record") this.stored.set(change.record.key, change.record);
      else if (change.kind === "record_gone") this.stored.delete(change.key);
      else if (change.kind === "waiter") this.waiters.set(change.waiter.order, change.waiter);
      else if (change.kind === "waiter_gone") this.waiters.delete(change.order);
    }
    return this.#outbox.effects.slice(0, this.#outbox.effectCount);
  }
}

/** Effects as short lines, for tests that are about who was told what in which order. */
export function told(effects: readonly Effect[]): string[] {
  return effects.map((effect) => {
    const who = "request" in effect && effect.to !== "@x" ? `${effect.to} ${effect.request}` : effect.to;
    switch (effect.kind) {
      case "started":
        return `${who}: started ${effect.number}`;
      case "replay":
        return `${who}: replay ${new TextDecoder().decode(effect.result)} of ${effect.number}`;
      case "in_progress":
        return `${who}: in progress, ${effect.retryAfterMs}`;
      case "attempt_queued":
        return `${who}: queued ${effect.position}`;
      case "attempt_lost":
        return `${who}: lost, ${effect.reason}`;
      case "completed":
        return `${who}: completed${effect.already === true ? " already" : ""}`;
      case "forgotten":
        return `${who}: forgotten${effect.existed ? "" : ", was not there"}`;
      case "refused":
        return `${who}: refused ${effect.code}${effect.limit === undefined ? "" : ` ${effect.limit}`}`;
      default:
        return `${who}: ${effect.kind}`;
    }
  });
}
