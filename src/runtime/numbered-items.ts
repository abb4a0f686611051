/**
 * Items that are added and removed all the time, each with a number while it is here. Not a Map or a Set: one that is
 * filled and emptied allocates new tables, and V8 keeps the linked old tables, with the items and all that these refer
 * to, until the next full collection. With a Set of the requests in flight, all objects of each request were kept.
 */
export class NumberedItems<T> {
  readonly #items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Returns the number of the item. It is used again after the item was removed. */
  add(item: T): number {
    const number = this.#free.pop() ?? this.#items.length;
    this.#items[number] = item;
    return number;
  }

  /** Removes the item with this number, and returns it. There must be one. */
  remove(number: number): T {
    const item = this.#items[number] as T;
    this.#items[number] = undefined;
    this.#free.push(number);
    return item;
  }

  /** Iterates in no particular order. Items may be removed meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
