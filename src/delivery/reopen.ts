/** Reopens closed and failing applications whose URL has changed (D72). */
import type { MessageQueue } from '../queue/queue.ts';
import { urlHashOf } from './circuit-breaker.ts';
import { type Destinations, isUnresolved } from './destination.ts';

/**
 * Reopens the application if its URL has changed since its state was stored. Resolves to `unknown` if its settings cannot
 * be read, or give no usable URL.
 */
export type ReopenIfMoved = (applicationId: string) => Promise<'reopened' | 'same' | 'unknown'>;

export function reopener(
  queue: Pick<MessageQueue, 'applicationState' | 'reopenApplication'>,
  destinations: Pick<Destinations, 'resolve'>,
): ReopenIfMoved {
  return async (applicationId) => {
    const before = urlHashOf(await queue.applicationState(applicationId));
    const destination = await destinations.resolve(applicationId);
    if (isUnresolved(destination)) return 'unknown';
    // Read again after the settings, which may take long: a request to another URL may have written the state meanwhile.
    const after = urlHashOf(await queue.applicationState(applicationId));
    if (after === undefined || after === destination.urlHash || after !== before) return 'same';
    await queue.reopenApplication(applicationId);
    return 'reopened';
  };
}
