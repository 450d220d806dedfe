/** Something that is due at a time. It knows its slot in the heap, so that it can leave from the middle. */
export interface Due {
  /** Engine time in ms. Change it only through `Deadlines.set`. */
  deadline: number;
  /** Breaks ties: the earlier arrival is served first. Unique. */
  readonly order: number;
  /** Managed by the heap; -1 outside. */
  slot: number;
}

/** A binary heap, earliest first. All operations are O(log n), `first` is O(1). */
export class Deadlines<T extends Due> {
  readonly #heap: T[] = [];

  get count(): number {
    return this.#heap.length;
  }

  get first(): T | undefined {
    return this.#heap[0];
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
      item.slot = this.#heap.length;
      this.#heap.push(item);
    }
    this.#settle(item);
  }

  remove(item: T): void {
    const slot = item.slot;
    if (slot === -1) return;
    item.slot = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    this.#heap[slot] = last;
    last.slot = slot;
    this.#settle(last);
  }

  #settle(item: T): void {
    if (!this.#rise(item)) this.#sink(item);
  }

  #rise(item: T): boolean {
    const heap = this.#heap;
    let slot = item.slot;
    const start = slot;
    while (slot > 0) {
      const above = (slot - 1) >> 1;
      const parent = heap[above] as T;
      if (!isBefore(item, parent)) break;
      heap[slot] = parent;
      parent.slot = slot;
      slot = above;
    }
    heap[slot] = item;
    item.slot = slot;
    return slot !== start;
  }

  #sink(item: T): void {
    const heap = this.#heap;
    const count = heap.length;
    let slot = item.slot;
    for (;;) {
      let below = 2 * slot + 1;
      if (below >= count) break;
      let child = heap[below] as T;
      if (below + 1 < count) {
        const right = heap[below + 1] as T;
        if (isBefore(right, child)) {
          below++;
          child = right;
        }
      }
      if (!isBefore(child, item)) break;
      heap[slot] = child;
      child.slot = slot;
      slot = below;
    }
    heap[slot] = item;
    item.slot = slot;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.order < b.order);
}
