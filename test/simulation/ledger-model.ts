import type {
  Begin,
  CancelBegin,
  Complete,
  ExtendAttempt,
  Fail,
  Forget,
  IdempotencyCommand,
  RecordCommand,
} from "../../src/core/idempotency/command.ts";
import type { LossReason } from "../../src/core/idempotency/effect.ts";
import type { LedgerLimitName, LedgerLimits } from "../../src/core/idempotency/limits.ts";
import type { AttemptEnd, IdempotencyImage, WaiterImage } from "../../src/core/idempotency/record.ts";
import type { Effect, RefusalCode } from "../../src/core/effect.ts";
import { asRemembered, runOf } from "./ledger-record.ts";
import type { ModelRecord } from "./ledger-record.ts";
import { addressOf } from "./model-life.ts";

/** A lease or a wait that ends, and what happens then. */
interface Due {
  readonly deadline: number;
  readonly order: number;
  serve(): void;
}

/**
 * The oracle of idempotency records: RULES.md of the ledger, written down a second time in the plainest way. It remembers every
 * record, at rest or not, and believes its own memory, not what a command says was found.
 */
export class LedgerModel {
  /** At most one of each key. Those whose time is over are left lying here, as in a store that nobody sweeps. */
  records: ModelRecord[] = [];
  /** In order of arrival. */
  waiters: WaiterImage[] = [];
  readonly #limits: LedgerLimits;
  readonly #tell: (effect: Effect) => void;
  /** Keys whose record came to rest in this step. */
  #rested: string[] = [];
  #order = 0;
  #now = -Infinity;

  constructor(limits: LedgerLimits, tell: (effect: Effect) => void) {
    this.#limits = limits;
    this.#tell = tell;
  }

  /** Begins that live, whether they run or wait. */
  begins(): readonly Begin[] {
    return [...this.running().map((record) => runOf(record).asked), ...this.waiters.map(({ asked }) => asked)];
  }

  running(): readonly ModelRecord[] {
    return this.records.filter(({ state }) => state === "running");
  }

  /** The record of a key that counts now. */
  record(key: string): ModelRecord | undefined {
    return this.records.find((record) => record.key === key && record.expiresAt > this.#now);
  }

  queue(key: string): readonly WaiterImage[] {
    return this.waiters.filter(({ asked }) => asked.key === key);
  }

  nextDeadline(): number {
    return this.#dues().reduce((least, due) => Math.min(least, due.deadline), Infinity);
  }

  /** All records that a store had, not only those that run. */
  restore(image: IdempotencyImage, isLiveSession: (id: string) => boolean, now: number): void {
    this.#now = now;
    this.records = [...image.records];
    const waiters = image.waiters.toSorted((a, b) => a.order - b.order);
    this.waiters = waiters;
    const orders = [...this.running().map((record) => runOf(record).order), ...waiters.map(({ order }) => order)];
    this.#order = Math.max(0, ...orders);
    const begins = [...this.running().map(runOf), ...waiters].sort((a, b) => a.order - b.order);
    const sessions = begins.filter(({ asked }) => asked.session).map(({ asked }) => asked.from);
    this.drop([...new Set(sessions)].filter((id) => !isLiveSession(id)));
    this.serveDue();
  }

  enter(now: number): void {
    this.#now = now;
    this.#rested = [];
  }

  drop(sessions: readonly string[]): void {
    this.waiters = this.waiters.filter(({ asked }) => !sessions.includes(asked.from));
    for (const id of sessions) {
      const mine = this.running().filter((record) => runOf(record).asked.from === id);
      mine.sort((a, b) => runOf(a).order - runOf(b).order);
      for (const record of mine) this.#pass(record, "dropped");
    }
  }

  serveDue(): void {
    for (;;) {
      const due = this.#dues()
        .filter(({ deadline }) => deadline <= this.#now)
        .sort((a, b) => a.deadline - b.deadline || a.order - b.order)[0];
      if (due === undefined) return;
      due.serve();
    }
  }

  obey(command: IdempotencyCommand): void {
    if (command.kind === "cancel_begin") return this.#cancel(command);
    if (command.kind === "begin" && this.#live(command.from, command.request) !== undefined) {
      return this.#repeat(command);
    }
    const isKnown = this.record(command.key)?.state === "running" || this.#rested.includes(command.key);
    if (command.found === "unreadable" && !isKnown) return this.#unreadable(command);
    switch (command.kind) {
      case "begin":
        return this.#begin(command);
      case "complete":
        return this.#complete(command);
      case "fail":
        return this.#fail(command);
      case "extend_attempt":
        return this.#extend(command);
      case "forget":
        return this.#forget(command);
      case "record_status":
        return this.#status(command);
    }
  }

  #unreadable(command: Exclude<IdempotencyCommand, CancelBegin>): void {
    if (command.kind !== "forget" || command.attempt !== undefined) return this.#refuse(command, "unavailable");
    const { key } = command;
    this.#remove(key);
    this.#tell({ kind: "forgotten", ...addressOf(command), key, existed: true });
  }

  #dues(): Due[] {
    const leases = this.running().map((record): Due => {
      const { leaseUntil: deadline, order, asked } = runOf(record);
      const serve = (): void => {
        if (asked.session) this.#tellLost(asked, "expired");
        this.#pass(record, "expired");
      };
      return { deadline, order, serve };
    });
    const waits = this.waiters.map((waiter): Due => {
      const serve = (): void => {
        this.#leave(waiter);
        this.#tellInProgress(waiter.asked);
      };
      return { deadline: waiter.deadline, order: waiter.order, serve };
    });
    return [...leases, ...waits];
  }

  #start(asked: Begin, order: number, attempts: number): void {
    const { key, fingerprint, ttlMs, leaseMs, newAttempt: attempt } = asked;
    const leaseUntil = this.#now + leaseMs;
    const common = { key, fingerprint, ttlMs, attempt, attempts: attempts + 1 };
    const run = { order, asked: asRemembered(asked), leaseMs, leaseUntil };
    const nothing = { lostBy: undefined, result: undefined, contentType: undefined };
    this.#put({ ...common, state: "running", startedAt: this.#now, expiresAt: Infinity, run, ...nothing });
    this.#tellStarted(asked, attempt);
  }

  /** The attempt of this record is over, by time or its session (then it is lost), or by somebody's word. */
  #pass(record: ModelRecord, lostBy: AttemptEnd | undefined): void {
    const { key } = record;
    this.#remove(key);
    const overdue = this.queue(key).filter(({ deadline }) => deadline < this.#now);
    const next = this.queue(key).find(({ deadline }) => deadline >= this.#now);
    for (const waiter of overdue) {
      if (next !== undefined && waiter.order > next.order) continue;
      this.#leave(waiter);
      this.#tellInProgress(waiter.asked);
    }
    if (next !== undefined) {
      this.#leave(next);
      return this.#start(next.asked, next.order, record.attempts);
    }
    this.#rested.push(key);
    if (lostBy === undefined) return;
    const expiresAt = record.startedAt + record.ttlMs;
    this.#put({ ...record, state: "idle", expiresAt, run: undefined, lostBy });
  }

  #repeat(command: Begin): void {
    const known = this.#live(command.from, command.request) as Begin;
    const words = ["key", "fingerprint", "ttlMs", "leaseMs", "waitMs", "session"] as const;
    if (words.some((word) => known[word] !== command[word])) return this.#refuse(command, "request_mismatch");
    if (this.record(known.key)?.attempt === known.newAttempt) return this.#tellStarted(known, known.newAttempt);
    const position = this.queue(known.key).findIndex(({ asked }) => asked === known) + 1;
    this.#tell({ kind: "attempt_queued", ...addressOf(command), key: command.key, position });
  }

  #begin(command: Begin): void {
    const { key } = command;
    const limits = this.#limits;
    const record = this.record(key);
    if (record !== undefined && record.fingerprint !== command.fingerprint) {
      return this.#refuse(command, "fingerprint_mismatch");
    }
    if (record?.state === "done") return this.#tellReplay(command, record);
    const isRunning = record?.state === "running";
    if (isRunning && command.waitMs === 0) return this.#tellInProgress(command);

    const own = this.begins().filter(({ session, from }) => session && command.session && from === command.from);
    if (own.length >= limits.beginsPerSessionMax) return this.#refuseAt("begins_per_session", command);
    if (this.begins().length >= limits.beginsMax) return this.#refuseAt("begins", command);
    if (!isRunning) {
      const isNew = record === undefined && command.found === undefined;
      if (isNew && command.isStoreFull) return this.#refuseAt("records", command);
      return this.#start(command, ++this.#order, record?.attempts ?? 0);
    }
    if (this.queue(key).length >= limits.waitersPerRecordMax) return this.#refuseAt("waiters_per_record", command);
    const deadline = this.#now + command.waitMs;
    this.waiters = [...this.waiters, { order: ++this.#order, asked: asRemembered(command), deadline }];
    this.#tell({ kind: "attempt_queued", ...addressOf(command), key, position: this.queue(key).length });
  }

  #complete(command: Complete): void {
    const { key, attempt, result, contentType } = command;
    const record = this.record(key);
    const told = { kind: "completed", ...addressOf(command), key } as const;
    if (record?.state === "done" && record.attempt === attempt) {
      const isSame = record.contentType === contentType && String(record.result) === String(result);
      return isSame ? this.#tell({ ...told, already: true }) : this.#refuse(command, "result_mismatch");
    }
    if (record?.state !== "running" || record.attempt !== attempt) return this.#tellLost(command, this.#why(command));
    const expiresAt = this.#now + record.ttlMs;
    const done: ModelRecord = { ...record, state: "done", expiresAt, run: undefined, result, contentType };
    this.#put(done);
    this.#rested.push(key);
    for (const waiter of this.queue(key)) {
      this.#leave(waiter);
      this.#tellReplay(waiter.asked, done);
    }
    this.#tell(told);
  }

  #fail(command: Fail): void {
    const record = this.record(command.key);
    if (record?.state !== "running" || record.attempt !== command.attempt) {
      return this.#tellLost(command, this.#why(command));
    }
    this.#pass(record, undefined);
    this.#tell({ kind: "failed", ...addressOf(command), key: command.key });
  }

  #extend(command: ExtendAttempt): void {
    const { key, leaseMs } = command;
    const record = this.record(key);
    if (record?.state !== "running" || record.attempt !== command.attempt) {
      return this.#tellLost(command, this.#why(command));
    }
    const leaseUntil = this.#now + leaseMs;
    this.#put({ ...record, run: { ...runOf(record), leaseMs, leaseUntil } });
    this.#tell({ kind: "attempt_extended", ...addressOf(command), key, leaseMs, expiresAt: leaseUntil });
  }

  #forget(command: Forget): void {
    const { key, attempt } = command;
    const record = this.record(key);
    const told = { kind: "forgotten", ...addressOf(command), key, existed: record !== undefined } as const;
    if (record === undefined) return this.#tell(told);
    if (attempt !== undefined && (record.attempt !== attempt || record.state === "idle")) {
      return this.#tellLost(command, this.#why({ key, attempt }));
    }
    if (record.state === "running") {
      const { asked } = runOf(record);
      if (attempt === undefined && asked.session) this.#tellLost(asked, "forgotten");
      this.#pass({ ...record, attempts: 0 }, undefined);
    } else this.#remove(key);
    this.#tell(told);
  }

  #cancel(command: CancelBegin): void {
    const asked = this.#live(command.from, command.request);
    if (asked === undefined) return;
    const record = this.record(asked.key) as ModelRecord;
    if (record.attempt === asked.newAttempt) {
      this.#pass(record, undefined);
      return this.#tell({ kind: "failed", ...addressOf(command), key: asked.key });
    }
    this.#leave(this.waiters.find((waiter) => waiter.asked === asked) as WaiterImage);
    this.#tellInProgress(asked);
  }

  #status(command: RecordCommand): void {
    const { key } = command;
    const record = this.record(key);
    const told = { kind: "record_status", ...addressOf(command), key } as const;
    if (record === undefined) return this.#tell(told);
    const { state, attempts, run, expiresAt, contentType, result } = record;
    const ends = run === undefined ? { expiresAt } : { leaseUntil: run.leaseUntil };
    const done = contentType !== undefined && result !== undefined && { contentType, resultBytes: result.length };
    this.#tell({ ...told, record: { state, attempts, waiting: this.queue(key).length, ...ends, ...done } });
  }

  // What there is.

  #live(from: string, request: string): Begin | undefined {
    return this.begins().find((asked) => asked.from === from && asked.request === request);
  }

  #put(record: ModelRecord): void {
    this.records = [...this.records.filter(({ key }) => key !== record.key), record];
  }

  #remove(key: string): void {
    this.records = this.records.filter((record) => record.key !== key);
  }

  #leave(waiter: WaiterImage): void {
    this.waiters = this.waiters.filter((other) => other !== waiter);
  }

  /** Why this attempt is not the one that runs. */
  #why({ key, attempt }: { readonly key: string; readonly attempt: string }): LossReason {
    const record = this.record(key);
    if (record === undefined) return "unknown";
    if (record.attempt !== attempt || record.state === "running") return "superseded";
    return record.state === "done" ? "completed" : (record.lostBy as LossReason);
  }

  // What is told.

  #tellStarted(asked: Begin, attempt: string): void {
    const { attempts: number, run } = this.record(asked.key) as ModelRecord;
    const { leaseMs, leaseUntil: expiresAt } = run as NonNullable<typeof run>;
    this.#tell({ kind: "started", ...addressOf(asked), key: asked.key, attempt, number, leaseMs, expiresAt });
  }

  #tellReplay(asked: Begin, { attempts: number, result, contentType }: ModelRecord): void {
    const what = { result: result as Uint8Array, contentType: contentType as string, number };
    this.#tell({ kind: "replay", ...addressOf(asked), key: asked.key, ...what });
  }

  #tellInProgress(asked: Begin): void {
    const leaseUntil = this.record(asked.key)?.run?.leaseUntil ?? this.#now;
    const retryAfterMs = Math.max(0, leaseUntil - this.#now);
    this.#tell({ kind: "in_progress", ...addressOf(asked), key: asked.key, retryAfterMs });
  }

  #tellLost(asked: RecordCommand, reason: LossReason): void {
    this.#tell({ kind: "attempt_lost", ...addressOf(asked), key: asked.key, reason });
  }

  #refuse(asked: RecordCommand, code: RefusalCode): void {
    this.#tell({ kind: "refused", ...addressOf(asked), code, key: asked.key });
  }

  #refuseAt(limit: LedgerLimitName, asked: RecordCommand): void {
    this.#tell({ kind: "refused", ...addressOf(asked), code: "limit", key: asked.key, limit });
  }
}
