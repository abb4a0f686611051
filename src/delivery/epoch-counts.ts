/** Counts messages by the epoch of their call. */
export class EpochCounts {
  readonly #counts = new Map<number, number>();

  add(epoch: number, count: number): void {
    const sum = (this.#counts.get(epoch) ?? 0) + count;
    if (sum === 0) this.#counts.delete(epoch);
    else this.#counts.set(epoch, sum);
  }

  /** Returns the number of messages of this epoch and of earlier ones. */
  upTo(epoch: number): number {
    let sum = 0;
    for (const [of, count] of this.#counts) if (of <= epoch) sum += count;
    return sum;
  }
}
