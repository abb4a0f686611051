interface Wait {
  readonly upTo: number;
  left: number;
  readonly resolve: () => void;
}

/**
 * Counts calls in progress, for callers that wait until all calls so far have ended. Not a Set of promises:
 * a Set that is filled and emptied allocates a new table each time, and V8 keeps the linked old tables
 * until the next full collection.
 */
export class CallsInProgress {
  #begun = 0;
  #count = 0;
  #waits: Wait[] = [];

  get begunCalls(): number {
    return this.#begun;
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the number of the call, to pass to `end`. */
  begin(): number {
    this.#begun += 1;
    this.#count += 1;
    return this.#begun;
  }

  end(call: number): void {
    this.#count -= 1;
    if (this.#waits.length === 0) return;
    for (const wait of this.#waits) {
      if (call > wait.upTo) continue;
      wait.left -= 1;
      if (wait.left === 0) wait.resolve();
    }
    this.#waits = this.#waits.filter(({ left }) => left > 0);
  }

  /** Counts a call until its promise settles. Returns what it settles to. */
  async track<T>(call: Promise<T>): Promise<T> {
    const number = this.begin();
    try {
      return await call;
    } finally {
      this.end(number);
    }
  }

  /** Resolves when every call that has begun so far has ended. */
  async waitForAll(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#waits.push({ upTo: this.#begun, left: this.#count, resolve });
    });
  }
}
