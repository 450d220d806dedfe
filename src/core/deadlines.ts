/** Something that is due at a time. It knows its slot in the heap, so that it can leave from the middle. */
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

/**
 * A heap of four children, earliest first. Its keys stand side by side in an array of their own, so that comparing touches
 * no item. Leases are mostly extended: a key may therefore be earlier than the deadline of its item, which is put right
 * when it comes to the top. So moving to a later time is O(1), all else O(log n).
 */
export class Deadlines<T extends Due> {
  #keys: Float64Array = new Float64Array(CAPACITY_MIN);
  readonly #items: T[] = [];

  get count(): number {
    return this.#items.length;
  }

  /** Puts the item in, moves it, or (Infinity) takes it out. */
  set(item: T, deadline: number): void {
    if (deadline === Number.POSITIVE_INFINITY) {
      this.remove(item);
      item.deadline = deadline;
      return;
    }
    item.deadline = deadline;
    if (item.slot === -1) this.#rise(item, deadline, this.#grow());
    else if (deadline < this.#key(item.slot)) this.#rise(item, deadline, item.slot);
  }

  remove(item: T): void {
    const { slot } = item;
    if (slot === -1) return;
    item.slot = -1;
    const items = this.#items;
    const last = items.pop() as T;
    if (last === item) return;
    const key = this.#key(items.length);
    // What comes from the end belongs further down, unless it stood on another branch.
    if (slot > 0 && this.#isBefore(key, last, (slot - 1) >> 2)) this.#rise(last, key, slot);
    else this.#sink(last, key, slot);
  }

  /** The one that is due first, if it is due at `now`. */
  firstDue(now: number): T | undefined {
    const items = this.#items;
    for (let item = items[0]; item !== undefined && this.#key(0) <= now; item = items[0]) {
      if (item.deadline === this.#key(0)) return item;
      this.#sink(item, item.deadline, 0);
    }
    return undefined;
  }

  /**
   * When something is due next; Infinity when nothing is. Never too late, but too early when very many were moved to
   * later times. Whoever is going to look again at `lookAt` anyway is told of no later time precisely.
   */
  next(lookAt: number = Number.POSITIVE_INFINITY): number {
    for (let settled = 0; ; settled++) {
      const first = this.#items[0];
      if (first === undefined) return Number.POSITIVE_INFINITY;
      const key = this.#key(0);
      if (first.deadline === key || key >= lookAt || settled === SETTLED_MAX) return key;
      this.#sink(first, first.deadline, 0);
    }
  }

  /** A slot at the end. */
  #grow(): number {
    const slot = this.#items.length;
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

  #put(item: T, key: number, slot: number): void {
    this.#keys[slot] = key;
    this.#items[slot] = item;
    item.slot = slot;
  }

  /** Whether this item with this key comes before what stands at the slot. */
  #isBefore(key: number, item: T, slot: number): boolean {
    const other = this.#key(slot);
    return key < other || (key === other && item.order < (this.#items[slot] as T).order);
  }

  /** Up from a slot that is free for it. */
  #rise(item: T, key: number, from: number): void {
    let slot = from;
    while (slot > 0) {
      const above = (slot - 1) >> 2;
      if (!this.#isBefore(key, item, above)) break;
      this.#put(this.#items[above] as T, this.#key(above), slot);
      slot = above;
    }
    this.#put(item, key, slot);
  }

  /** Down from a slot that is free for it. */
  #sink(item: T, key: number, from: number): void {
    const count = this.#items.length;
    let slot = from;
    for (let child = 4 * slot + 1; child < count; child = 4 * slot + 1) {
      let least = child;
      const end = Math.min(child + 4, count);
      for (child++; child < end; child++) {
        if (this.#isBefore(this.#key(child), this.#items[child] as T, least)) least = child;
      }
      if (this.#isBefore(key, item, least)) break;
      this.#put(this.#items[least] as T, this.#key(least), slot);
      slot = least;
    }
    this.#put(item, key, slot);
  }
}
