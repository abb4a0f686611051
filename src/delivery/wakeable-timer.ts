import type { Clock } from '../runtime/clock.ts';
import { deferred } from '../runtime/deferred.ts';
import { NOT_NEEDED } from '../runtime/not-needed.ts';

interface Alarm {
  readonly atMs: number;
  readonly cancel: AbortController;
}

/**
 * A wait that is mostly ended early, several times a request. An alarm that is set stays, as long as it
 * is not too late for the next wait: it may end one too soon, which costs less than a timer and a
 * signal for each.
 */
export class Rest {
  readonly #clock: Clock;
  #alarm: Alarm | undefined;
  #isWoken = false;
  #tell: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it was woken since {@link begin}. */
  get isWoken(): boolean {
    return this.#isWoken;
  }

  /** From now on a call of `wake` ends the next wait, even before that has begun. */
  begin(): void {
    this.#isWoken = false;
  }

  wake(): void {
    this.#isWoken = true;
    this.#tell?.();
  }

  /** Resolves when it is woken, or after `ms` at the latest. A process with nothing else to do ends meanwhile. */
  async wait(ms: number): Promise<void> {
    if (this.#isWoken) return;
    const { promise, resolve } = deferred();
    this.#tell = resolve;
    this.#setAlarm(this.#clock.monotonicMs() + ms, ms);
    await promise;
    this.#tell = undefined;
  }

  /** Nobody waits any more. */
  end(): void {
    this.#alarm?.cancel.abort(NOT_NEEDED);
    this.#alarm = undefined;
  }

  #setAlarm(atMs: number, ms: number): void {
    if (this.#alarm !== undefined && this.#alarm.atMs <= atMs) return;
    this.end();
    const alarm = { atMs, cancel: new AbortController() };
    this.#alarm = alarm;
    void this.#clock.idle(ms, alarm.cancel.signal).then(() => {
      if (this.#alarm !== alarm) return;
      this.#alarm = undefined;
      this.#tell?.();
    });
  }
}
