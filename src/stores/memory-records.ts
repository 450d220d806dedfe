/** Idempotency records in memory, as long as the process lives. None that lives is ever pushed out: at a limit no new one is taken. */

import { Deadlines, type Due } from "../core/deadlines.ts";
import type { IdempotencyChange, IdempotencyImage, RecordImage } from "../core/idempotency/record.ts";
import { KeyTable } from "./key-table.ts";

export interface MemoryRecordLimits {
  readonly recordsMax: number;
  /** Of all results together. Attempts that run when it is reached may still complete. */
  readonly resultBytesMax: number;
}

const DEFAULTS: MemoryRecordLimits = { recordsMax: 2_000_000, resultBytesMax: 512 * 1024 * 1024 };

export class MemoryRecords {
  readonly #limits: MemoryRecordLimits;
  readonly #spaces: Map<string, KeyTable<Kept>> = new Map();
  readonly #expiring: Deadlines<Kept> = new Deadlines();
  #count = 0;
  #resultBytes = 0;
  #orderLast = 0;

  constructor(limits: Partial<MemoryRecordLimits> = {}) {
    this.#limits = { ...DEFAULTS, ...limits };
  }

  load(space: string): IdempotencyImage {
    const records: RecordImage[] = [];
    for (const { record } of this.#spaces.get(space)?.values() ?? []) {
      if (record?.state === "running") records.push(record);
    }
    return { records, waiters: [] };
  }

  find(space: string, key: string): RecordImage | undefined {
    return this.#spaces.get(space)?.get(key)?.record;
  }

  isFull(): boolean {
    return this.#count >= this.#limits.recordsMax || this.#resultBytes >= this.#limits.resultBytesMax;
  }

  /** Waiters end with the process. */
  write(space: string, change: IdempotencyChange): void {
    if (change.kind === "record") this.#put(space, change.record);
    else if (change.kind === "record_gone") this.#drop(space, change.key);
  }

  sweep(now: number, countMax: number): number {
    let count = 0;
    for (let kept = this.#expiring.firstDue(now); kept !== undefined; kept = this.#expiring.firstDue(now)) {
      if (++count > countMax) return now;
      this.#drop(kept.space, kept.key);
    }
    return this.#expiring.next();
  }

  #put(space: string, record: RecordImage): void {
    let records = this.#spaces.get(space);
    if (records === undefined) {
      records = new KeyTable();
      this.#spaces.set(space, records);
    }
    let kept = records.get(record.key);
    if (kept === undefined) {
      kept = { space, key: record.key, record, deadline: Number.POSITIVE_INFINITY, order: ++this.#orderLast, slot: -1 };
      records.set(record.key, kept);
      this.#count += 1;
    } else {
      this.#resultBytes -= bytesOf(kept.record);
      kept.record = record;
    }
    this.#resultBytes += bytesOf(record);
    this.#expiring.set(kept, record.expiresAt);
  }

  #drop(space: string, key: string): void {
    const records = this.#spaces.get(space);
    const kept = records?.get(key);
    if (records === undefined || kept === undefined) return;
    this.#expiring.remove(kept);
    this.#resultBytes -= bytesOf(kept.record);
    this.#count -= 1;
    // What has left may stand among the deadlines for a while, and shall not keep its record there.
    kept.record = undefined;
    records.delete(key);
    if (records.size === 0) this.#spaces.delete(space);
  }
}

interface Kept extends Due {
  readonly space: string;
  readonly key: string;
  /** Undefined: it has left. */
  record: RecordImage | undefined;
}

function bytesOf(record: RecordImage | undefined): number {
  return record?.result?.byteLength ?? 0;
}
