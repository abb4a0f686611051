/** Tracks calls in progress of a real queue. The world's clock stops while there are any. */
import type { MessageQueue } from '../../src/queue/queue.ts';
import { settled } from '../../src/testing/fake-clock.ts';
import { deferred } from '../helpers/promises.ts';

/** Run without concurrent calls: a claim does not show whether it came before or after. */
const EXCLUSIVE: ReadonlySet<string> = new Set(['reopen', 'replay', 'purge', 'close']);

export class CallsInProgress {
  /** Calls in progress, including those that wait for an exclusive call. */
  #count = 0;
  #running = 0;
  #begun = 0;
  #waiting: (() => void)[] = [];
  #gate: Promise<void> | undefined;

  get isIdle(): boolean {
    return this.#count === 0;
  }

  /**
   * Returns a function that returns whether only one call has started since, without another in progress. The
   * results of concurrent calls come in any order.
   */
  watchForOverlap(): () => boolean {
    const [before, begun] = [this.#count, this.#begun];
    return () => before === 0 && this.#begun === begun + 1;
  }

  /** Returns a queue whose calls are tracked. Awaits `before` in each call. */
  watch(queue: MessageQueue, before: () => Promise<unknown>): MessageQueue {
    return new Proxy(queue, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'onDue') return value.bind(target);
        const isExclusive = EXCLUSIVE.has(String(name));
        return (...args: readonly unknown[]) =>
          this.track(() => this.#run(isExclusive, before, () => value.apply(target, args)));
      },
    });
  }

  async track<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    this.#begun += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      this.#wakeWaiting();
    }
  }

  async #run<T>(
    isExclusive: boolean,
    before: () => Promise<unknown>,
    work: () => Promise<T>,
  ): Promise<T> {
    while (this.#gate !== undefined) await this.#gate;
    const gate = isExclusive ? deferred() : undefined;
    this.#gate = gate?.promise;
    if (isExclusive) await this.#until(() => this.#running === 0);
    this.#running += 1;
    try {
      await before();
      return await work();
    } finally {
      this.#running -= 1;
      if (gate !== undefined) this.#gate = undefined;
      gate?.resolve();
      this.#wakeWaiting();
    }
  }

  /** Resolves when nothing more happens until the clock advances. */
  async untilIdle(): Promise<void> {
    let begun: number;
    do {
      begun = this.#begun;
      await this.#until(() => this.#count === 0);
      await settled();
    } while (this.#count > 0 || this.#begun !== begun);
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #wakeWaiting(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
