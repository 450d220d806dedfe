import type {
  IdempotencyChange,
  IdempotencyImage,
  RecordImage,
  WaiterImage,
} from "../../src/core/idempotency/record.ts";
import { isEqual, show } from "./equal.ts";
import type { Random } from "./random.ts";

/** The part of a store that keeps idempotency records, as copies. */
export class LedgerStore {
  readonly #records = new Map<string, RecordImage>();
  readonly #waiters = new Map<number, WaiterImage>();

  commit(change: IdempotencyChange): void {
    switch (change.kind) {
      case "record":
        this.#records.set(change.record.key, copyRecord(change.record));
        break;
      case "record_gone":
        this.#records.delete(change.key);
        break;
      case "waiter":
        this.#waiters.set(change.waiter.order, { ...change.waiter, asked: { ...change.waiter.asked } });
        break;
      case "waiter_gone":
        this.#waiters.delete(change.order);
        break;
    }
  }

  get count(): number {
    return this.#records.size + this.#waiters.size;
  }

  get recordCount(): number {
    return this.#records.size;
  }

  get waiterCount(): number {
    return this.#waiters.size;
  }

  find(key: string): RecordImage | undefined {
    return this.#records.get(key);
  }

  /** Deletes some records whose time is over, or all of them. */
  sweep(now: number, countMax = Infinity): number {
    const over = [...this.#records.values()].filter(({ expiresAt }) => expiresAt <= now).slice(0, countMax);
    for (const { key } of over) this.#records.delete(key);
    return over.length;
  }

  /** All records, in no order; a ledger needs those that run. */
  load(random: Random): IdempotencyImage {
    return {
      records: random.shuffled([...this.#records.values()]),
      waiters: random.shuffled([...this.#waiters.values()]),
    };
  }

  /** What differs from what the model expects, as far as it counts at this time. */
  difference(records: readonly RecordImage[], waiters: readonly WaiterImage[], now: number): string | undefined {
    const counts = (record: RecordImage): boolean => record.expiresAt > now;
    const expected = records.filter(counts);
    for (const record of expected) {
      const actual = this.#records.get(record.key);
      if (!isEqual(record, actual)) return `stored record\n  expected ${show(record)}\n  actual   ${show(actual)}`;
    }
    const actual = [...this.#records.values()].filter(counts);
    if (actual.length !== expected.length) return `records are stored that should not be: ${show(actual)}`;
    const stored = [...this.#waiters.values()].sort((a, b) => a.order - b.order);
    if (isEqual(waiters, stored)) return undefined;
    return `stored waits\n  expected ${show(waiters)}\n  actual   ${show(stored)}`;
  }
}

function copyRecord(record: RecordImage): RecordImage {
  const { run, result } = record;
  return { ...record, run: run && { ...run, asked: { ...run.asked } }, result: result && new Uint8Array(result) };
}
