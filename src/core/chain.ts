/** What stands in a chain carries its own links; it is in one chain at a time. */
export interface Link<T> {
  previous: T | undefined;
  following: T | undefined;
}

/** Items in order, linked through themselves: adding at the end and leaving from anywhere are O(1). */
export class Chain<T extends Link<T>> {
  first: T | undefined = undefined;
  #last: T | undefined = undefined;
  count = 0;

  add(item: T): void {
    item.previous = this.#last;
    item.following = undefined;
    if (this.#last === undefined) this.first = item;
    else this.#last.following = item;
    this.#last = item;
    this.count++;
  }

  remove(item: T): void {
    if (item.previous === undefined) this.first = item.following;
    else item.previous.following = item.following;
    if (item.following === undefined) this.#last = item.previous;
    else item.following.previous = item.previous;
    item.previous = undefined;
    item.following = undefined;
    this.count--;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let item = this.first; item !== undefined; item = item.following) yield item;
  }
}
