/** What a subject has, once: from a sequence on, in order. */
import { onAbort } from '../../system/on-abort.ts';
import { Feed, type FeedOptions } from './feed.ts';
import { Lagging } from './jetstream-failure.ts';
import { patiently } from './patience.ts';
import type { Session } from './session.ts';
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
async function read(
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

/** By which a reading goes. */
export interface Reader {
  /** The last sequence that is known to have been there: it is to come, or to be gone. */
  readonly seen: number;
  /** See {@link read}. */
  readonly take: (message: Kept) => boolean;
}

export interface AskedToEnd extends Omit<Asked, 'isCountBelieved'> {
  readonly surrounding: Surrounding;
  readonly newReader: () => Reader;
}

type Access = Pick<Session, 'store' | 'clock' | 'callTimeoutMs'>;

/**
 * As {@link read}, and to the end that the leader has. It is read from any replica, which may lag behind what
 * is there: then it is read again, each time by a new reader.
 */
export async function readToEnd(
  session: Access,
  { surrounding, newReader, ...asked }: AskedToEnd,
): Promise<void> {
  const { stream, subjects, after } = asked;
  let isCountBelieved = true;
  await patiently(session, async () => {
    const last = await session.store.last(stream, subjects);
    const { seen, take } = newReader();
    const least = Math.max(last?.sequence ?? 0, seen);
    let end = after;
    const isEnd = await read(surrounding, { ...asked, isCountBelieved }, (message) => {
      end = message.sequence;
      return take(message);
    });
    // What a server that was wrong once says of what is to come is not believed again.
    isCountBelieved = false;
    if (isEnd && end < least) await mustBeGone(session, asked, { end, least });
  });
}

interface Gap {
  /** Up to here it was read. */
  readonly end: number;
  /** Up to here something was there. */
  readonly least: number;
}

/** What came between was removed meanwhile, all of it: the leader has come as far, and has none of it. */
async function mustBeGone(
  { store }: Access,
  { stream, subjects }: Pick<Asked, 'stream' | 'subjects'>,
  { end, least }: Gap,
): Promise<void> {
  const next = await store.next(stream, subjects, end + 1);
  // A new leader may have come as far only since: it is asked again once it is known how far that is.
  const isFar = next !== undefined || (await store.state(stream)).last_seq >= least;
  const first = next ?? (await store.next(stream, subjects, end + 1));
  const isGone = isFar && (first === undefined || first.sequence > least);
  if (!isGone) throw new Lagging('a server lags behind');
}

export interface Limited extends Omit<Asked, 'isCountBelieved'> {
  readonly limit: number;
}

/** Ascending; fewer than `limit`: that is all. What was removed lately may be among them. */
export async function listed(
  session: Access,
  surrounding: Surrounding,
  { limit, ...asked }: Limited,
): Promise<Kept[]> {
  let found: Kept[] = [];
  const newReader = (): Reader => {
    found = [];
    return { seen: 0, take: (message) => found.push(message) < limit };
  };
  await readToEnd(session, { surrounding, newReader, ...asked });
  return found;
}
