/**
 * A server's time that stands, but for the steps that a test makes: what the server wrote down before a
 * step is from before it. Test and server share the machine's clock.
 */
import { setTimeout as wait } from 'node:timers/promises';

interface Step {
  readonly at: number;
  readonly now: number;
}

export class SteppingTime {
  readonly #steps: Step[];

  constructor() {
    const now = Date.now();
    this.#steps = [{ at: 0, now }];
  }

  readonly now = (): number => this.#steps.at(-1)?.now ?? 0;

  /** What a server's timestamp means. */
  readonly of = (serverMs: number): number =>
    this.#steps.findLast(({ at }) => at <= serverMs)?.now ?? 0;

  async advance(ms: number): Promise<void> {
    // Of another millisecond than anything before it, and than anything behind it.
    const at = Math.floor(Date.now()) + 1;
    this.#steps.push({ at, now: this.now() + ms });
    while (Date.now() <= at) await wait(1);
  }
}
