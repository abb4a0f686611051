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
  readonly headersOnly: boolean;
  /** See {@link FeedOptions}. */
  readonly isCountBelieved?: boolean;
}

/** Ascending, until `take` says that no more is wanted; whether that was all there is. */
export async function read(
  surrounding: Surrounding,
  { after, ...asked }: Asked,
  take: (message: Kept) => boolean,
): Promise<boolean> {
  const enough = new AbortController();
  const feed = new Feed({
    ...surrounding,
    ...asked,
    lastOfEach: false,
    onMessage: (message) => {
      if (!enough.signal.aborted && !take(message)) enough.abort();
    },
    onResumed: () => {},
  });
  const isEnough = new Promise<void>((resolve) => void onAbort(enough.signal, resolve));
  try {
    await Promise.race([feed.start(after), isEnough]);
    return !enough.signal.aborted;
  } finally {
    await feed.end();
  }
}

/** Ascending; fewer than `limit`: that is all. */
export async function listed(
  surrounding: Surrounding,
  { limit, ...asked }: Asked & { readonly limit: number },
): Promise<Kept[]> {
  const found: Kept[] = [];
  await read(surrounding, asked, (message) => found.push(message) < limit);
  return found;
}
