/** The timers of a fake clock: what is due first, and among equals what was set first. */

export interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  /** A timer that was given up stays in the heap until it would be due. */
  isLive: boolean;
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.dueMs === other.dueMs ? one.order < other.order : one.dueMs < other.dueMs;

/** A binary heap: days of virtual time have millions of timers, so each costs a logarithm only. */
export class TimerHeap {
  readonly #timers: Timer[] = [];

  add(timer: Timer): void {
    const timers = this.#timers;
    let at = timers.length;
    timers.push(timer);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = timers[above] as Timer;
      if (!isBefore(timer, parent)) break;
      timers[at] = parent;
      at = above;
    }
    timers[at] = timer;
  }

  /** The first live timer; it stays. */
  first(): Timer | undefined {
    while (this.#timers[0]?.isLive === false) this.#removeFirst();
    return this.#timers[0];
  }

  /** Takes the first live timer off. */
  take(): Timer | undefined {
    const timer = this.first();
    if (timer !== undefined) this.#removeFirst();
    return timer;
  }

  #removeFirst(): void {
    const timers = this.#timers;
    const last = timers.pop() as Timer;
    if (timers.length === 0) return;
    let at = 0;
    for (;;) {
      const below = this.#earlierChild(at);
      if (below === undefined || !isBefore(timers[below] as Timer, last)) break;
      timers[at] = timers[below] as Timer;
      at = below;
    }
    timers[at] = last;
  }

  #earlierChild(at: number): number | undefined {
    const left = 2 * at + 1;
    const [one, other] = [this.#timers[left], this.#timers[left + 1]];
    if (one === undefined) return undefined;
    return other !== undefined && isBefore(other, one) ? left + 1 : left;
  }
}
