/** Limits the events that wait for a queue or store: no quota counts these yet. */
import { SecurityEventError } from '../errors.ts';

/**
 * A message usually reaches the queue within a few turns of the event loop. The limit is above any burst of
 * one turn. At a few KB for each event, it also protects the host's memory.
 */
export const MAX_IN_FLIGHT = 10_000;

export class InFlightLimit {
  #count = 0;

  /** @throws SecurityEventError `ERR_QUEUE_FULL` */
  checkLimit(): void {
    if (this.#count < MAX_IN_FLIGHT) return;
    const detail = `${MAX_IN_FLIGHT} events wait for settings, a queue or an incident store that does not answer, or for a busy event loop`;
    throw new SecurityEventError('ERR_QUEUE_FULL', { detail });
  }

  /** Throws like `checkLimit`. */
  enter(): void {
    this.checkLimit();
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
  }
}
