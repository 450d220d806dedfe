import type { Effect } from "./effect.ts";
import type { Change } from "./record.ts";

/**
 * Where a step puts what must be stored and what must be told, in that order of importance: effects leave
 * only after the changes are committed. It is reused from step to step; counts say how much of the arrays is
 * valid, because `array.length = 0` would give V8's backing store away each time.
 */
export class Outbox {
  readonly effects: Effect[] = [];
  effectCount = 0;
  readonly changes: Change[] = [];
  changeCount = 0;
  /** Whether somebody wants to know what changed: then `touched` is filled. */
  isWatched = false;
  /** The keys of which a `status` may say something else than before. */
  readonly touched: Set<string> = new Set();

  tell(effect: Effect): void {
    this.effects[this.effectCount++] = effect;
  }

  change(change: Change): void {
    this.changes[this.changeCount++] = change;
  }

  clear(): void {
    this.effectCount = 0;
    this.changeCount = 0;
    // To clear a set that is empty costs V8 a new table.
    if (this.touched.size > 0) this.touched.clear();
  }
}
