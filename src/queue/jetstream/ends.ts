/** What ends without an attempt: at the horizon, or since its application is closed. */
import { type GiveWay, givingWay } from '../../system/giving-way.ts';
import type { DeadReason, ExpiredMessage } from '../queue.ts';
import type { Bodies } from './bodies.ts';
import type { Message } from './envelope.ts';
import type { FollowUps } from './follow-ups.ts';
import { isPassing } from './jetstream-failure.ts';
import { acceptedMsOf, type Row } from './row.ts';
import { bury, closed, olderThan, waitingOf } from './row-ends.ts';
import { lapse } from './row-settle.ts';
import { MAX_TRIES, type Rows, rowBusy } from './rows.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';
import type { Work } from './work.ts';

export interface Parts {
  readonly rows: Rows;
  readonly bodies: Bodies;
  readonly followUps: FollowUps;
}

/** So many messages of an application are looked through for older ones behind younger ones. */
const FAR = 1000;

interface Burying {
  readonly reason: DeadReason;
  readonly max: number;
  /** Of what the row knows. */
  readonly touched: (row: Row, max: number) => number[];
  readonly isMeant: (message: Message) => boolean;
  /** Of what is not kept: whether some of it may be meant though the last one that is kept is not. */
  readonly mayBeBehind: (view: View) => boolean;
  readonly before: (row: Row) => Row;
}

interface Seen {
  readonly row: Row;
  readonly view: View;
  readonly page: readonly Message[];
}

export class Ends {
  readonly #session: Session;
  readonly #work: Work;
  readonly #parts: Parts;
  readonly #giveWay: GiveWay;

  constructor(session: Session, work: Work, parts: Parts) {
    this.#session = session;
    this.#giveWay = givingWay(session.clock);
    this.#work = work;
    this.#parts = parts;
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<ExpiredMessage[]> {
    await this.#work.ready();
    const beforeMs = this.#session.time.now() - olderThanMs;
    const expired: ExpiredMessage[] = [];
    const failures: unknown[] = [];
    for (const view of this.#work.views) {
      if (expired.length >= maxMessages || isPassing(failures.at(-1))) break;
      // There may be thousands, and rows that have to be read out.
      await this.#giveWay();
      if (!view.mayHoldOlder(beforeMs)) continue;
      const found = await this.#bury(view, {
        reason: 'horizon-passed',
        max: maxMessages - expired.length,
        touched: (row, max) => olderThan(row, beforeMs, max),
        isMeant: (message) => acceptedMsOf(message) < beforeMs,
        // What was brought with a past may be older than what was stored before it.
        mayBeBehind: ({ oldestBehindMs }) => oldestBehindMs < beforeMs,
        before: (row) => row,
      }).catch((error: unknown) => void failures.push(error));
      if (found !== undefined) expired.push(...found);
    }
    // Those that are over have to be told; what failed will fail again.
    if (expired.length === 0 && failures.length > 0) throw failures[0];
    return expired;
  }

  async close(applicationId: string, maxMessages: number): Promise<ExpiredMessage[]> {
    await this.#work.ready();
    const view = this.#work.viewOf(applicationId);
    // Closed first: what is published from now on sees it.
    if (view.row.tier !== 'closed') {
      await this.#parts.rows.change(view, (row) => {
        const next = closed(row);
        return next === row ? undefined : next;
      });
      await this.#work.caughtUp();
    }
    const waits = {
      touched: waitingOf,
      isMeant: () => true,
      mayBeBehind: () => false,
      before: closed,
    };
    return await this.#bury(view, { ...waits, reason: 'destination-closed', max: maxMessages });
  }

  async #bury(view: View, burying: Burying): Promise<ExpiredMessage[]> {
    const { rows, followUps } = this.#parts;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      await this.#look(view, burying);
      const { state, revision } = view;
      const before = burying.before(lapse(state, this.#session.time.now()));
      const page = view.visible();
      const { buried, row } = await this.#buried({ row: before, view, page }, burying);
      if (row === state) return [];
      if (!(await rows.write(view, row, revision))) continue;
      await followUps.run(view);
      return buried.map(({ messageId, origin }) => ({
        applicationId: view.applicationId,
        messageId,
        origin,
      }));
    }
    throw rowBusy();
  }

  /** So far that as many are known as may be buried, where those that are known are. */
  async #look(view: View, { max, isMeant, mayBeBehind }: Burying): Promise<void> {
    await this.#work.look(view, { messages: 1 });
    const last = view.visible().at(-1);
    if (last === undefined) return;
    if (isMeant(last)) await this.#work.look(view, { messages: max });
    else if (mayBeBehind(view)) {
      // However few are still asked for: it is not looked again where nothing told of any.
      await this.#work.look(view, { messages: Math.max(max, FAR) });
      view.lookedFar();
    }
  }

  async #buried({ row, view, page }: Seen, { max, reason, touched, isMeant }: Burying) {
    const known = await this.#parts.bodies.read(view.token, touched(row, max));
    const messages: Message[] = [...known.values()];
    for (const message of page) {
      if (messages.length >= max) break;
      if (isMeant(message)) messages.push(message);
    }
    const nowMs = this.#session.time.now();
    return bury(row, { messages: messages.slice(0, max), reason, nowMs, page });
  }
}
