/** The parts of an open queue, put together. */
import type { Clock } from '../../system/clock.ts';
import type { Durability } from '../queue.ts';
import { Bodies } from './bodies.ts';
import { Claiming } from './claiming.ts';
import { Letters } from './dead-letters.ts';
import { Ends } from './ends.ts';
import { FollowUps } from './follow-ups.ts';
import { MAX_KEPT } from './fresh-room.ts';
import { Intake } from './intake.ts';
import type { ReadOptions } from './jetstream-options.ts';
import { LetterEnds } from './letter-ends.ts';
import { LetterLists } from './letter-lists.ts';
import { type Link, linked, Requests } from './link.ts';
import { namesOf } from './names.ts';
import { Rows } from './rows.ts';
import { ServerTime } from './server-time.ts';
import { tellUnsound } from './server-version.ts';
import type { Beginning, Session, Surroundings } from './session.ts';
import { Stats } from './stats.ts';
import { Store } from './store.ts';
import { lookedAt } from './streams.ts';
import { Work } from './work.ts';

export interface Opened {
  readonly session: Session;
  readonly durability: Durability;
  readonly work: Work;
  readonly rows: Rows;
  readonly intake: Intake;
  readonly claiming: Claiming;
  readonly followUps: FollowUps;
  readonly ends: Ends;
  readonly letters: Letters;
  readonly letterLists: LetterLists;
  readonly letterEnds: LetterEnds;
  readonly stats: Stats;
  readonly end: () => Promise<void>;
}

export interface Opening extends Surroundings {
  readonly beginning: () => Beginning;
  readonly ring: () => void;
}

const DEFAULT_MAX_PAYLOAD = 1_048_576;

/** How often the server's time is asked for: meanwhile our monotonic clock goes on by itself. */
const TIME_MS = 30_000;

export async function opened(options: ReadOptions, opening: Opening): Promise<Opened> {
  const { clock, newId, load } = opening;
  const link = await linked(options, load);
  const requests = new Requests(
    link.nats,
    { clock, inbox: `_INBOX.${newId()}` },
    options.callTimeoutMs,
  );
  try {
    const names = namesOf(options.prefix);
    const { durability, bounds } = await lookedAt(link, names, { ...options, clock });
    tellUnsound(options.prefix, link.nats.info?.version);
    const measured = new ServerTime(() => clock.monotonicMs());
    const time = opening.time ?? measured;
    const maxPayload = link.nats.info?.max_payload ?? DEFAULT_MAX_PAYLOAD;
    const stamp = (stampMs: number): number => time.of(stampMs);
    const session: Session = {
      link,
      requests,
      store: new Store(requests, link, { ...options, clock, stamp, maxPayload }),
      names,
      time,
      stamped: (stampMs) => measured.observe(stampMs),
      clock,
      handle: newId(),
      newId,
      beginning: opening.beginning,
      bounds,
      maxPayload,
      maxKept: opening.maxKept ?? MAX_KEPT,
      callTimeoutMs: options.callTimeoutMs,
    };
    const measure = (): Promise<void> => measureTime(session, measured);
    await measure();
    return partsOf(session, { durability, ring: opening.ring, measure });
  } catch (error) {
    requests.end();
    await ended(link);
    throw error;
  }
}

interface Found {
  readonly durability: Durability;
  readonly ring: () => void;
  readonly measure: () => Promise<void>;
}

function partsOf(session: Session, { durability, ring, measure }: Found): Opened {
  const stop = new AbortController();
  const bodies = new Bodies(session);
  const work = new Work(session, bodies, ring);
  const rows = new Rows(session, work);
  const letters = new Letters(session, bodies);
  const followUps = new FollowUps(session, { letters, bodies, rows });
  const letterLists = new LetterLists(session, work, { rows, followUps });
  const parts = { rows, bodies, letters, letterLists, followUps };
  // Who only enqueues need not know it that well, and there may be many.
  void keepTime(session.clock, () => (work.isBegun ? measure() : Promise.resolve()), stop.signal);
  const statuses = session.link.nats.status();
  void attendConnection(session, statuses, ring);
  return {
    session,
    durability,
    work,
    rows,
    letters,
    letterLists,
    letterEnds: new LetterEnds(work, parts),
    followUps,
    intake: new Intake(session, work, parts),
    claiming: new Claiming(session, work, parts),
    ends: new Ends(session, work, parts),
    stats: new Stats(session, work, parts),
    end: async () => {
      stop.abort();
      statuses.stop?.();
      await work.end();
      await forgetTime(session);
      session.requests.end();
      await ended(session.link);
    },
  };
}

async function ended({ nats, isOwn }: Link): Promise<void> {
  if (isOwn) await nats.close().catch(() => {});
}

/** A message that the server stamps, and that is read again. */
async function measureTime(
  { store, names, handle, clock, newId }: Session,
  time: ServerTime,
): Promise<void> {
  const subject = names.time(handle);
  const sentMs = clock.monotonicMs();
  const sequence = await store.publish({ subject, body: Buffer.alloc(0), messageId: newId() });
  const answeredMs = clock.monotonicMs();
  const kept = await store.last(names.rows, subject);
  // A leader that lags has the stamp before it: as if its clock had been set back.
  if (kept?.sequence === sequence) time.measured(kept.storedMs, sentMs, answeredMs);
}

async function keepTime(
  clock: Pick<Clock, 'idle'>,
  measure: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.idle(TIME_MS, signal);
    if (signal.aborted) return;
    await measure().catch(() => {});
  }
}

/** So that handles that are gone leave nothing behind. */
async function forgetTime({ store, names, handle, link }: Session): Promise<void> {
  if (link.nats.isClosed()) return;
  const subject = names.time(handle);
  await store.purge(names.rows, subject, Number.MAX_SAFE_INTEGER).catch(() => {});
}

/** What was asked on a connection that was lost is asked again at once, not after its time. */
async function attendConnection(
  { requests }: Session,
  statuses: AsyncIterable<{ readonly type: string }>,
  ring: () => void,
): Promise<void> {
  for await (const { type } of statuses) {
    if (type === 'disconnect') requests.interrupted();
    if (type === 'reconnect') ring();
  }
}
