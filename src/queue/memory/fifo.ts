/** Below this the gap at the front is not worth a copy. */
const MIN_GAP = 32;

/** First in, first out, in constant time: `Array.shift` moves all that is behind. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  /** What is before it was taken out. */
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** `undefined` past the end. */
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
      this.#reset(this.#items.slice(this.#head) as T[]);
    }
    return first;
  }

  /** Takes out what is wanted, in order. Visits all. */
  extract(isWanted: (item: T) => boolean): T[] {
    const taken: T[] = [];
    const kept: T[] = [];
    for (let index = 0; index < this.size; index += 1) {
      const item = this.at(index) as T;
      (isWanted(item) ? taken : kept).push(item);
    }
    this.#reset(kept);
    return taken;
  }

  /** A new array, so that the room of a burst is given back. */
  #reset(items: T[]): void {
    this.#items = items;
    this.#head = 0;
  }
}
