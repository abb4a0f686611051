/** Calls that a queue may never answer: whoever ends the command waits for what is under way, but not for ever. */
import type { WebhookSender } from '../../index.ts';
import type { Terminal } from '../terminal.ts';

/** What a sender can do with dead letters. */
export type DeadLetters = Pick<
  WebhookSender,
  'deadLetters' | 'purge' | 'reopen' | 'replay' | 'stats'
>;

/** Enough for a call of a queue that is well, so that what it did is counted. */
const GRACE_MS = 2000;

type Ending = Pick<Terminal, 'signal' | 'clock'>;

/** What `call` comes to; or rejects as the signal says, a while after that was aborted. */
export async function untilEnded<T>(call: Promise<T>, { signal, clock }: Ending): Promise<T> {
  const over = new AbortController();
  const ended = new Promise<never>((_, reject) => {
    const abort = async (): Promise<void> => {
      await clock.sleep(GRACE_MS, over.signal);
      reject(signal.reason as Error);
    };
    if (signal.aborted) void abort();
    else signal.addEventListener('abort', () => void abort(), { signal: over.signal });
  });
  try {
    return await Promise.race([call, ended]);
  } finally {
    over.abort();
  }
}

/** The same letters, each of whose calls ends with the command. */
export function lettersUntilEnded(letters: DeadLetters, ending: Ending): DeadLetters {
  return {
    deadLetters: (...given) => untilEnded(letters.deadLetters(...given), ending),
    purge: (...given) => untilEnded(letters.purge(...given), ending),
    reopen: (...given) => untilEnded(letters.reopen(...given), ending),
    replay: (...given) => untilEnded(letters.replay(...given), ending),
    stats: (...given) => untilEnded(letters.stats(...given), ending),
  };
}
