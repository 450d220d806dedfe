/**
 * Something that is due at a time. It knows its slot in the heap, so that it need not be looked for. It belongs to one heap for ever:
 * after it has left, an entry there may still lead to it.
 */
export interface Due {
  /** Engine time in ms; Infinity: never. Change it only through `Deadlines.set`. */
  deadline: number;
  /** Breaks ties: the earlier arrival is served first. Unique. */
  readonly order: number;
  /** Managed by the heap; -1 outside. */
  slot: number;
}

/** So many entries are put right by one look for the next deadline: a million extended leases must not stop a step. */
const SETTLED_MAX = 64;
const CAPACITY_MIN = 64;
/** So many entries more may be out of use than in use: few, so that the simulation's small worlds get there, too. */
const UNUSED_MAX = 4;

/**
 * A heap of four children, earliest first. Its keys stand side by side in an array of their own, so that comparing touches
 * no item. Most leases are extended or released long before they would end, so nothing is moved for either: a key may be
 * earlier than the deadline of its item, and an item that has left may still stand here, with another slot than this one.
 * Both are put right when they come to the top, or all together when most entries are out of use.
 */
export class Deadlines<T extends Due> {
  #keys: Float64Array = new Float64Array(CAPACITY_MIN);
  readonly #items: T[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Puts the item in, moves it, or (Infinity) takes it out. */
  set(item: T, deadline: number): void {
    if (deadline === Number.POSITIVE_INFINITY) {
      this.remove(item);
      item.deadline = deadline;
      return;
    }
    item.deadline = deadline;
    if (item.slot === -1) {
      this.#count++;
      item.slot = this.#items.length;
      this.#items.push(item);
      this.#rise(item, deadline, this.#reserve(item.slot));
    } else if (deadline < this.#key(item.slot)) this.#rise(item, deadline, item.slot);
  }

  remove(item: T): void {
    const { slot } = item;
    if (slot === -1) return;
    item.slot = -1;
    this.#count--;
    const items = this.#items;
    if (this.#count === 0) items.length = 0;
    else if (slot === items.length - 1) items.pop();
    else if (items.length > 2 * this.#count + UNUSED_MAX) this.#rebuild();
  }

  /** The one that is due first, if it is due at `now`. */
  firstDue(now: number): T | undefined {
    for (let item = this.#items[0]; item !== undefined && this.#key(0) <= now; item = this.#items[0]) {
      if (item.slot === 0 && item.deadline === this.#key(0)) return item;
      this.#settleFirst(item);
    }
    return undefined;
  }

  /**
   * When something is due next; Infinity when nothing is. Never too late, but too early when very many have left or were
   * moved to later times. Whoever is going to look again at `lookAt` anyway is told of no later time precisely.
   */
  next(lookAt: number = Number.POSITIVE_INFINITY): number {
    for (let settled = 0; ; settled++) {
      const first = this.#items[0];
      if (first === undefined) return Number.POSITIVE_INFINITY;
      const key = this.#key(0);
      const isRight = first.slot === 0 && first.deadline === key;
      if (isRight || key >= lookAt || settled === SETTLED_MAX) return key;
      this.#settleFirst(first);
    }
  }

  /** What stands first has left, or is due later than it says there. */
  #settleFirst(first: T): void {
    if (first.slot === 0) {
      this.#sink(first, first.deadline, 0);
      return;
    }
    const end = this.#items.length - 1;
    const last = this.#items.pop() as T;
    if (end > 0) this.#sink(last, this.#key(end), 0, end);
  }

  /** Only what is in use, with the keys that are right by now. */
  #rebuild(): void {
    const items = this.#items;
    let count = 0;
    for (let slot = 0; slot < items.length; slot++) {
      const item = items[slot] as T;
      if (item.slot === slot) this.#put(item, item.deadline, count++, slot);
    }
    items.length = count;
    for (let slot = (count - 2) >> 2; slot >= 0; slot--) this.#sink(items[slot] as T, this.#key(slot), slot);
  }

  /** Makes room for a key at the slot. */
  #reserve(slot: number): number {
    if (slot === this.#keys.length) {
      const keys = new Float64Array(2 * slot);
      keys.set(this.#keys);
      this.#keys = keys;
    }
    return slot;
  }

  #key(slot: number): number {
    return this.#keys[slot] as number;
  }

  /** Moves an entry, and its item with it unless that has left. */
  #put(item: T, key: number, to: number, from: number): void {
    this.#keys[to] = key;
    this.#items[to] = item;
    if (item.slot === from) item.slot = to;
  }

  /** Whether this item with this key comes before what stands at the slot. */
  #isBefore(key: number, item: T, slot: number): boolean {
    const other = this.#key(slot);
    return key < other || (key === other && item.order < (this.#items[slot] as T).order);
  }

  /** Up from where the entry stands. */
  #rise(item: T, key: number, from: number): void {
    let slot = from;
    while (slot > 0) {
      const above = (slot - 1) >> 2;
      if (!this.#isBefore(key, item, above)) break;
      this.#put(this.#items[above] as T, this.#key(above), slot, above);
      slot = above;
    }
    this.#put(item, key, slot, from);
  }

  /** Down from a slot that is free for the entry, which stood at `from`. */
  #sink(item: T, key: number, start: number, from: number = start): void {
    const keys = this.#keys;
    const items = this.#items;
    const count = items.length;
    let slot = start;
    for (let child = 4 * slot + 1; child < count; child = 4 * slot + 1) {
      let least = child;
      let leastKey = keys[child] as number;
      const end = Math.min(child + 4, count);
      for (child++; child < end; child++) {
        const childKey = keys[child] as number;
        if (childKey > leastKey || (childKey === leastKey && !this.#isBefore(childKey, items[child] as T, least)))
          continue;
        least = child;
        leastKey = childKey;
      }
      if (this.#isBefore(key, item, least)) break;
      this.#put(items[least] as T, leastKey, slot, least);
      slot = least;
    }
    this.#put(item, key, slot, from);
  }
}
