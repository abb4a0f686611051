/** A binary heap that reports the index of each item, so that items can be removed from anywhere. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (item: T, other: T) => boolean;
  readonly #placed: (item: T, index: number) => void;
  /** Indices of items that `extract` is about to remove: each removal moves others. */
  #watched: Map<T, number> | undefined;

  /** `placed` is called with an item's index whenever it changes. */
  constructor(
    isBefore: (item: T, other: T) => boolean,
    placed: (item: T, index: number) => void = () => {},
  ) {
    this.#isBefore = isBefore;
    this.#placed = placed;
  }

  get size(): number {
    return this.#items.length;
  }

  first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  shift(): T | undefined {
    const [first] = this.#items;
    if (first !== undefined) this.removeAt(0);
    return first;
  }

  removeAt(index: number): void {
    const last = this.#items.pop() as T;
    if (index === this.#items.length) return;
    // It comes from another branch, so it may belong above the gap.
    this.#rise(last, this.#sink(last, index));
  }

  /** Removes and returns at most `max` items, in no particular order. May visit all, but moves few. */
  extract(isWanted: (item: T) => boolean, max: number): T[] {
    const wanted = new Map<T, number>();
    for (const [index, item] of this.#items.entries()) {
      if (wanted.size >= max) break;
      if (isWanted(item)) wanted.set(item, index);
    }
    this.#watched = wanted;
    for (const item of wanted.keys()) this.removeAt(wanted.get(item) as number);
    this.#watched = undefined;
    return [...wanted.keys()];
  }

  /** Iterates in no particular order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.values();
  }

  /** Puts `item` at `index`, or above it. */
  #rise(item: T, index: number): void {
    let at = index;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#items[above] as T;
      if (!this.#isBefore(item, parent)) break;
      this.#set(at, parent);
      at = above;
    }
    this.#set(at, item);
  }

  /** Moves children that belong above `item` up from `index`, and returns the index of the gap. */
  #sink(item: T, index: number): number {
    let at = index;
    for (;;) {
      const child = this.#firstChild(at);
      if (child === undefined || !this.#isBefore(child.item, item)) return at;
      this.#set(at, child.item);
      at = child.index;
    }
  }

  #firstChild(index: number): { readonly item: T; readonly index: number } | undefined {
    const left = 2 * index + 1;
    const right = left + 1;
    if (left >= this.#items.length) return undefined;
    const isRight =
      right < this.#items.length && this.#isBefore(this.#items[right] as T, this.#items[left] as T);
    const first = isRight ? right : left;
    return { item: this.#items[first] as T, index: first };
  }

  #set(index: number, item: T): void {
    this.#items[index] = item;
    if (this.#watched?.has(item) === true) this.#watched.set(item, index);
    this.#placed(item, index);
  }
}
