/** Limits the events that wait for a queue or store: no quota counts these yet. */
import { SecurityEventError } from '../errors.ts';

/**
 * A message usually reaches the queue within a few turns of the event loop. More than any burst within
 * one turn, and few enough for the host's memory at a few KB each.
 */
export const MAX_IN_FLIGHT = 10_000;

export class InFlightLimit {
  #count = 0;

  /** @throws SecurityEventError `ERR_QUEUE_FULL` */
  checkRoom(): void {
    if (this.#count < MAX_IN_FLIGHT) return;
    const detail = `${MAX_IN_FLIGHT} events wait for settings, a queue or a store that does not answer, or for a host that has no time`;
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

  /** Rejects, before `work` begins, with what `checkRoom` throws. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }
}
