/** Those who wait for something to come in. */
import { SecurityEventError } from '../errors.ts';
import { systemClock } from '../runtime/clock.ts';

/** The longest wait that a timer of Node's can hold: 24.8 days; a longer one would be over at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits for conditions on what came in; all end with `end`. */
export class Arrivals {
  readonly #checks = new Set<() => void>();
  #end: Error | undefined;

  /** To be called whenever something came in. */
  changed(): void {
    for (const check of this.#checks) check();
  }

  /** Every wait, and each that begins later, rejects with this, but where its condition holds. */
  end(error: Error): void {
    this.#end ??= error;
    this.changed();
  }

  /** Rejects with ERR_TIMED_OUT; `detail` tells then how far it has come. */
  until(isSo: () => boolean, timeoutMs: number, detail: () => string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timeUp = new AbortController();
      const settle = (error?: Error): void => {
        this.#checks.delete(check);
        timeUp.abort();
        if (error === undefined) resolve();
        else reject(error);
      };
      const check = (): void => {
        if (isSo()) settle();
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
