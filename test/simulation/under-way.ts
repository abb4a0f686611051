/** What is under way in a real store: while something is, the clock of the world stands. */
import type { MessageQueue } from '../../src/queue/queue.ts';
import { settled } from '../../src/testing/settled.ts';

/** Of its people, and of its end: from a claim's answer nobody can tell whether it came before. */
const ALONE: ReadonlySet<string> = new Set(['reopen', 'replay', 'purge', 'close']);

export class UnderWay {
  /** Begun and not ended, those that wait for others included. */
  #count = 0;
  #running = 0;
  #begun = 0;
  #waiting: (() => void)[] = [];
  #gate: Promise<void> | undefined;

  /** Whether no call is under way. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  alone(): () => boolean {
    const [before, begun] = [this.#count, this.#begun];
    return () => before === 0 && this.#begun === begun + 1;
  }

  /** Counts the calls of a queue; `before` is done first. */
  watch(queue: MessageQueue, before: () => Promise<unknown>): MessageQueue {
    return new Proxy(queue, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'onDue') return value.bind(target);
        const isAlone = ALONE.has(String(name));
        return (...args: readonly unknown[]) =>
          this.track(() => this.#passed(isAlone, before, () => value.apply(target, args)));
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
      this.#tell();
    }
  }

  async #passed<T>(
    isAlone: boolean,
    before: () => Promise<unknown>,
    work: () => Promise<T>,
  ): Promise<T> {
    while (this.#gate !== undefined) await this.#gate;
    const open = isAlone ? this.#shut() : undefined;
    if (isAlone) await this.#until(() => this.#running === 0);
    this.#running += 1;
    try {
      await before();
      return await work();
    } finally {
      this.#running -= 1;
      open?.();
      this.#tell();
    }
  }

  #shut(): () => void {
    const opening = new AbortController();
    this.#gate = new Promise((resolve) => {
      opening.signal.addEventListener('abort', () => resolve());
    });
    return () => {
      this.#gate = undefined;
      opening.abort();
    };
  }

  /** Once nothing goes on any more without time. */
  async rest(): Promise<void> {
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

  #tell(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
