/** Smaller gaps at the front are not worth a copy. */
const MIN_GAP = 32;

/** First in, first out, in constant time. `Array.shift` moves all items behind the first. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  /** Index of the first item; those before it were taken out. */
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  first(): T | undefined {
    return this.#items[this.#head];
  }

  last(): T | undefined {
    return this.#items[this.#items.length - 1];
  }

  /** Returns the item at `index`; `undefined` past the end. */
  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const first = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.size === 0) this.#reset([]);
    else if (this.#head >= MIN_GAP && this.#head >= this.size) {
      this.#reset(this.#items.slice(this.#head));
    }
    return first;
  }

  /** Takes out the items that `isWanted` accepts, in order. Visits every item. */
  extract(isWanted: (item: T) => boolean): T[] {
    const taken: T[] = [];
    const kept: T[] = [];
    for (const item of this) (isWanted(item) ? taken : kept).push(item);
    this.#reset(kept);
    return taken;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = this.#head; index < this.#items.length; index += 1) {
      yield this.#items[index] as T;
    }
  }

  /** A new array, so that the memory of a burst is released. */
  #reset(items: (T | undefined)[]): void {
    this.#items = items;
    this.#head = 0;
  }
}
