/** Waits for requests to arrive. */
import { SecurityEventError } from '../errors.ts';
import { MAX_TIMER_MS } from '../option-rules.ts';
import { systemClock } from '../runtime/clock.ts';

export class Arrivals {
  readonly #checks = new Set<() => void>();
  #end: Error | undefined;

  /** Must be called when something has arrived. */
  changed(): void {
    for (const check of this.#checks) check();
  }

  /** Rejects all waits, also later ones, whose condition does not hold. */
  end(error: Error): void {
    this.#end ??= error;
    this.changed();
  }

  /** Waits for a condition. Rejects with ERR_TIMED_OUT; `detail` then describes the progress. */
  until(condition: () => boolean, timeoutMs: number, detail: () => string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timeUp = new AbortController();
      const settle = (error?: Error): void => {
        this.#checks.delete(check);
        timeUp.abort();
        if (error === undefined) resolve();
        else reject(error);
      };
      const check = (): void => {
        if (condition()) settle();
        else if (this.#end !== undefined) settle(this.#end);
      };
      this.#checks.add(check);
      void systemClock.sleep(Math.min(timeoutMs, MAX_TIMER_MS), timeUp.signal).then(() => {
        settle(new SecurityEventError('ERR_TIMED_OUT', { detail: detail() }));
      });
      check();
    });
  }
}
