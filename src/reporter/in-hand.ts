/** How much may be under way at once while nothing answers: no bound of the queue counts it yet (D78). */
import { SecurityEventError } from '../errors.ts';

/**
 * Normally a message is handed over within a few turns of the event loop. More than any burst within
 * one of them, and, at the few KB of an event, few enough for the host's memory.
 */
export const MAX_IN_HAND = 10_000;

export class InHand {
  #count = 0;

  /** @throws SecurityEventError `ERR_QUEUE_FULL` */
  checkRoom(): void {
    if (this.#count < MAX_IN_HAND) return;
    const detail = `${MAX_IN_HAND} events wait for settings, a queue or a store that does not answer, or for a host that has no time`;
    throw new SecurityEventError('ERR_QUEUE_FULL', { detail });
  }

  /** Throws like `checkRoom`. */
  enter(): void {
    this.checkRoom();
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
  }

  /** Rejects like `checkRoom` throws, and then has begun nothing. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }
}
