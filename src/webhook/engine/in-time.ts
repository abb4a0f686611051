import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../system/clock.ts';
import { onAbort } from '../../system/on-abort.ts';

/** The settings may be asked for in the host's own code, which may never answer. */
const MAX_MS = 10_000;

export interface TimeLimit {
  readonly clock: Clock;
  /** Ends the wait, too. */
  readonly signal: AbortSignal;
}

/** What `work` gives, or `undefined` where that takes longer than 10 s. Its rejection is passed on. */
export async function inTime<T>(
  work: Promise<T>,
  limit: TimeLimit,
): Promise<{ readonly value: T } | undefined> {
  const { clock, signal } = limit;
  const decided = new AbortController();
  const letGo = onAbort(signal, () => decided.abort());
  const late = clock.idle(MAX_MS, decided.signal).then(() => undefined);
  try {
    return await Promise.race([work.then((value) => ({ value })), late]);
  } finally {
    letGo();
    decided.abort();
  }
}

type Ask<T> = (applicationId: string) => Promise<T>;

/**
 * Asks the host while messages come in: what waits for its answer is held in memory, which has to be
 * bounded (D78), and by no bound of the queue's yet.
 *
 * The function it makes rejects like `ask`, with `ERR_SETTINGS_FAILED` where there is no answer, and
 * with `ERR_SENDER_CLOSED` where the sender does not wait for one any more.
 */
export function answeredInTime<T>(ask: Ask<T>, limit: TimeLimit): Ask<T> {
  return async (applicationId) => {
    const answer = await inTime(ask(applicationId), limit);
    if (answer !== undefined) return answer.value;
    if (limit.signal.aborted) throw new SecurityEventError('ERR_SENDER_CLOSED');
    const path = ['settings', 'applications', applicationId];
    const cause = new Error(`no answer within ${MAX_MS / 1000} s`);
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause });
  };
}
