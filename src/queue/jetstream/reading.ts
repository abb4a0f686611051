/** What a subject has, once: from a sequence on, in order. */
import { onAbort } from '../../system/on-abort.ts';
import { Feed, type FeedOptions } from './feed.ts';
import type { Kept } from './store.ts';

export type Surrounding = Pick<
  FeedOptions,
  'nats' | 'manager' | 'clock' | 'newInbox' | 'stamp' | 'callTimeoutMs'
>;

export interface Asked {
  readonly stream: string;
  readonly subjects: string;
  /** Behind this sequence. */
  readonly after: number;
  /** At most so many, or one more where there are. */
  readonly limit: number;
  readonly headersOnly: boolean;
  /** See {@link FeedOptions}. */
  readonly isCountBelieved?: boolean;
}

/** Ascending; fewer than `limit`: that is all. */
export async function listed(
  surrounding: Surrounding,
  { after, limit, ...asked }: Asked,
): Promise<Kept[]> {
  const found: Kept[] = [];
  const full = new AbortController();
  const feed = new Feed({
    ...surrounding,
    ...asked,
    lastOfEach: false,
    onMessage: (message) => {
      if (found.length < limit) found.push(message);
      else full.abort();
    },
    onResumed: () => {},
  });
  const isFull = new Promise<void>((resolve) => void onAbort(full.signal, resolve));
  try {
    await Promise.race([feed.start(after), isFull]);
    return found;
  } finally {
    await feed.end();
  }
}
