/** Tells listeners that something may be due. */
export class Bell {
  readonly #listeners = new Set<() => void>();

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  onRing(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  ring(): void {
    for (const listener of this.#listeners) listener();
  }

  stop(): void {
    this.#listeners.clear();
  }
}
