/** The ledger of what is there (law 7): counts from the streams, and what the rows say of them. */
import type { Ledger, QueueStats, Tier } from '../queue.ts';
import type { Bodies } from './bodies.ts';
import { type FollowUps, rowNow } from './follow-ups.ts';
import type { LetterLists } from './letter-lists.ts';
import { lastToken } from './names.ts';
import type { Row } from './row.ts';
import { factsOf, ledgerOf, type RowFacts } from './row-due.ts';
import { waitingIn } from './row-groups.ts';
import type { Rows } from './rows.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';
import type { Work } from './work.ts';

/** Of so many messages at most the sizes are read; those of the others are taken to be like them. */
const MAX_READ = 5000;

/** So many applications at most are looked into for their sake. */
const MAX_LOOKS = 200;

/** So long at most whoever closes waits for a server that lags behind: all that lies in the stream is told then. */
const LEFT_MS = 1000;

type Account = Ledger & { readonly tier: Tier };

export interface Parts {
  readonly rows: Rows;
  readonly bodies: Bodies;
  readonly letterLists: LetterLists;
  readonly followUps: FollowUps;
}

export class Stats {
  readonly #session: Session;
  readonly #work: Work;
  readonly #parts: Parts;

  constructor(session: Session, work: Work, parts: Parts) {
    this.#session = session;
    this.#work = work;
    this.#parts = parts;
  }

  /** How much waits; who has only enqueued does not read all rows for it. */
  async left(): Promise<number> {
    const { names, store } = this.#session;
    const all = async (): Promise<number> => (await store.state(names.messages)).messages;
    if (!this.#work.isBegun) return await all();
    // An application that cannot be read must not keep the queue from being closed.
    return await this.read(LEFT_MS).then(({ pending }) => pending, all);
  }

  /** Waits `ms` at most for a server that lags behind. */
  async read(ms = this.#session.callTimeoutMs): Promise<QueueStats> {
    await this.#work.rowsCaughtUp(ms);
    await this.#finish();
    const { names, store } = this.#session;
    const [messages, letters] = await Promise.all([
      store.counts(names.messages, names.messageSubjects),
      this.#parts.letterLists.counts(),
    ]);
    const held = byToken(messages);
    for (const token of [...held.keys(), ...letters.keys()]) this.#work.seen(token);
    const accounts: [View, Account][] = [];
    for (const view of this.#work.views) {
      const inStreams = {
        messages: held.get(view.token) ?? 0,
        letters: letters.get(view.token) ?? 0,
      };
      if (view.revision === 0 && inStreams.messages + inStreams.letters === 0) continue;
      accounts.push([view, ledgerOf(nowOf(view), inStreams)]);
    }
    await this.#lookInto();
    return {
      ...sumOf(accounts.map(([, account]) => account)),
      pendingBytes: await this.#bytes(accounts),
      oldestDueMs: this.#oldestDueMs(),
      applications: new Map(accounts.map(([view, account]) => [view.applicationId, account])),
    };
  }

  /** Who began it may have ended: what is removed must not be counted as if it were there. */
  async #finish(): Promise<void> {
    const { followUps, rows } = this.#parts;
    for (const view of this.#work.views) {
      if (view.unreadable !== undefined) throw view.unreadable;
      if (!nowOf(view).hasFollowUp) continue;
      await followUps.run(view);
      const { state, revision } = view;
      await rows.write(view, state, revision);
    }
  }

  async #lookInto(): Promise<void> {
    const unread = [...this.#work.views].filter((one) => !one.isWhole && one.fresh.length === 0);
    for (const view of unread.slice(0, MAX_LOOKS)) await this.#work.look(view, { messages: 1 });
  }

  async #bytes(accounts: readonly [View, Account][]): Promise<number> {
    let bytes = 0;
    let counted = 0;
    let pending = 0;
    let left = MAX_READ;
    for (const [view, account] of accounts) {
      pending += account.pending;
      for (const { sizeBytes } of view.fresh) bytes += sizeBytes;
      counted += view.fresh.length;
      const { touched, claimed } = view.facts;
      if (left === 0 || touched.count + claimed.count === 0) continue;
      const known = placesIn(view.state).slice(0, left);
      left -= known.length;
      const read = await this.#parts.bodies.read(view.token, known);
      for (const { sizeBytes } of read.values()) bytes += sizeBytes;
      counted += read.size;
    }
    if (counted === 0) return 0;
    return counted >= pending ? bytes : Math.round((bytes / counted) * pending);
  }

  #oldestDueMs(): number {
    const nowMs = this.#session.time.now();
    let oldestMs = 0;
    for (const view of this.#work.views) {
      const isUnread = !view.isWhole && view.fresh.length === 0;
      if (view.claim !== undefined || isUnread) continue;
      const atMs = view.readyAtMs();
      if (atMs !== undefined) oldestMs = Math.max(oldestMs, nowMs - atMs);
    }
    return oldestMs;
  }
}

/** As {@link rowNow}; most are not read out for it. */
const nowOf = (view: View): RowFacts =>
  view.done.length === 0 ? view.facts : factsOf(rowNow(view));

function placesIn({ touched, claim }: Row): number[] {
  return [...waitingIn([...touched, ...(claim?.groups ?? [])])].map(({ place }) => place.sequence);
}

function byToken(counts: ReadonlyMap<string, number>): Map<string, number> {
  const held = new Map<string, number>();
  for (const [subject, count] of counts) {
    const token = lastToken(subject);
    held.set(token, (held.get(token) ?? 0) + count);
  }
  return held;
}

function sumOf(accounts: readonly Account[]): Ledger {
  const sum = { accepted: 0, delivered: 0, pending: 0, dead: 0 };
  const discarded: Record<string, number> = {};
  for (const account of accounts) {
    sum.accepted += account.accepted;
    sum.delivered += account.delivered;
    sum.pending += account.pending;
    sum.dead += account.dead;
    for (const [reason, count] of Object.entries(account.discarded)) {
      discarded[reason] = (discarded[reason] ?? 0) + count;
    }
  }
  return { ...sum, discarded };
}
