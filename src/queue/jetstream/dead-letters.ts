/** Dead letters: a stream of their own, in the order of death, each with a subject of its own. */
import type { DeadLetterFilter, DeadLetterPage, QueueEntry } from '../queue.ts';
import type { Bodies, Whole } from './bodies.ts';
import { sentOnceMore, toldOf } from './envelope.ts';
import { isFull, Unanswered } from './jetstream-failure.ts';
import { type Draft, type Letter, letterOf, tokenIn, toldWithin } from './letter-code.ts';
import { LetterCounts } from './letter-counts.ts';
import { tokenOf } from './names.ts';
import { patiently } from './patience.ts';
import { listed } from './reading.ts';
import type { DyingGroup } from './row.ts';
import type { Session } from './session.ts';
import type { Work } from './work.ts';

/** So many are read, or written, at once. */
const AT_ONCE = 500;

/** In their order, and not many too many where the queue is full. */
const REVIVED_AT_ONCE = 100;

/** Of headers and the protocol, beside what is told and a message's bytes. */
const HEADROOM = 512;

interface Listing extends DeadLetterFilter {
  /** Behind this sequence. */
  readonly after: number;
  readonly limit: number;
}

/** What a letter is found by. */
export interface Place {
  readonly token: string;
  readonly sequence: number;
}

export interface PageRequest extends DeadLetterFilter {
  readonly limit: number;
  readonly after?: string;
}

export class Letters {
  readonly #session: Session;
  readonly #work: Pick<Work, 'surrounding'>;
  readonly #bodies: Bodies;
  readonly #counts: LetterCounts;
  /** In the stream of what waits: the last one that this process put there. */
  lastRevived = 0;

  constructor(session: Session, work: Pick<Work, 'surrounding'>, bodies: Bodies) {
    this.#session = session;
    this.#work = work;
    this.#bodies = bodies;
    this.#counts = new LetterCounts(session, () => work.surrounding);
  }

  /** Each once, whoever does it: what is no longer in the work stream was published before. */
  async publish(token: string, dying: readonly DyingGroup[]): Promise<void> {
    const each = dying.flatMap(({ places, ...death }) =>
      places.map((place) => ({ ...death, ...place })),
    );
    for (let start = 0; start < each.length; start += AT_ONCE) {
      const part = each.slice(start, start + AT_ONCE);
      const found = await this.#bodies.reread(
        token,
        part.map(({ sequence }) => sequence),
      );
      const drafts = part.flatMap(({ sequence, sends, reason, end, diedMs, acceptedMs }) => {
        const message = found.get(sequence);
        if (message === undefined) return [];
        const death = { sends, reason, end, diedAt: diedMs, acceptedAt: acceptedMs };
        return [{ ...contentOf(message), ...death, token, name: `${sequence}` }];
      });
      await this.#store(drafts);
    }
  }

  /** What was dead in another queue. */
  async bring(entries: readonly QueueEntry[]): Promise<void> {
    const nowMs = Math.floor(this.#session.time.now());
    const drafts = entries.flatMap(({ applicationId, stored, origin, sizeBytes, past }) => {
      if (past?.death === undefined) return [];
      const { reason, end, diedAt = nowMs } = past.death;
      const times = { diedAt, acceptedAt: diedAt - past.ageMs };
      const death = { sends: past.sends, reason, end, ...times };
      const name = this.#session.newId();
      return [{ stored, origin, sizeBytes, ...death, token: tokenOf(applicationId), name }];
    });
    for (let start = 0; start < drafts.length; start += AT_ONCE) {
      await this.#store(drafts.slice(start, start + AT_ONCE));
    }
  }

  async #store(drafts: readonly Draft[]): Promise<void> {
    const { store, names, maxPayload } = this.#session;
    await Promise.all(
      drafts.map((draft) => {
        const { token, name } = draft;
        const body = draft.stored.bytes;
        const told = toldWithin(draft, maxPayload - body.length - HEADROOM);
        const subject = names.letter(token, name);
        // By its id it is not published again though it was purged meanwhile.
        return store.replace({
          subject,
          body,
          told,
          lastSequence: 0,
          messageId: `${token}.${name}`,
        });
      }),
    );
  }

  /** They wait again, as many as there is room for; each once, whoever does it. */
  async revive(sequences: readonly number[]): Promise<void> {
    for (let start = 0; start < sequences.length; start += REVIVED_AT_ONCE) {
      const part = sequences.slice(start, start + REVIVED_AT_ONCE);
      const found = await this.#read(part);
      await Promise.all(found.map((letter) => this.#revive(letter)));
    }
  }

  async #revive({ token, sequence, shown }: Letter): Promise<void> {
    const { store, names } = this.#session;
    const { applicationId, stored, sizeBytes, sends } = shown;
    const past = { sends, ageMs: 0, dueInMs: 0, progress: null };
    // Its sender was told of its end.
    const origin = { senderId: '', number: 0 };
    const entry = { applicationId, stored, sizeBytes, origin, past };
    try {
      const at = await store.publish({
        subject: names.message(stored.format, token),
        body: stored.bytes,
        told: toldOf(entry),
        toldInDoubt: () => toldOf(sentOnceMore(entry)),
        messageId: `replay-${sequence}`,
      });
      this.lastRevived = Math.max(this.lastRevived, at);
    } catch (error) {
      if (isFull(error)) return;
      throw error;
    }
    await store.delete(names.dead, sequence);
  }

  /** By token. */
  async counts(): Promise<ReadonlyMap<string, number>> {
    return await this.#counts.read();
  }

  async page({ limit, after, ...filter }: PageRequest): Promise<DeadLetterPage> {
    const found = await this.#letters({
      ...filter,
      after: sequenceIn(after ?? '') ?? 0,
      // One more than is shown tells whether there is another page.
      limit: limit + 1,
    });
    const items = found.slice(0, limit).map(({ shown }) => shown);
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  /** Oldest first, as the leader has them: what was removed lately is not among them. */
  async #letters({ limit, after, ...filter }: Listing): Promise<Letter[]> {
    if (filter.ids !== undefined) return await this.#named({ ...filter, after, limit });
    const found: Letter[] = [];
    for (let behind = after; ; ) {
      const wanted = limit - found.length;
      const places = await this.#listed({ ...filter, after: behind, limit: wanted });
      for (let start = 0; start < places.length; start += AT_ONCE) {
        const part = places.slice(start, start + AT_ONCE);
        found.push(...(await this.#read(part.map(({ sequence }) => sequence))));
      }
      const last = places.at(-1);
      if (last === undefined || places.length < wanted || found.length === limit) return found;
      behind = last.sequence;
    }
  }

  /** Oldest first; what was removed lately may be among them. */
  async places(asked: Listing): Promise<Place[]> {
    return asked.ids === undefined ? await this.#listed(asked) : await this.#named(asked);
  }

  /** From whichever server has them. */
  async #listed({ applicationId, after, limit }: Listing): Promise<Place[]> {
    const { names } = this.#session;
    const kept = await listed(this.#session, this.#work.surrounding, {
      stream: names.dead,
      subjects:
        applicationId === undefined ? names.deadSubjects : names.lettersOf(tokenOf(applicationId)),
      headersOnly: true,
      after,
      limit,
    });
    return kept.map(({ subject, sequence }) => ({ token: tokenIn(subject), sequence }));
  }

  async #named({ applicationId, ids = [], after, limit }: Listing): Promise<Letter[]> {
    const token = applicationId === undefined ? undefined : tokenOf(applicationId);
    const sequences = [...new Set(ids.map(sequenceIn))]
      .filter((sequence) => sequence !== undefined)
      .filter((sequence) => sequence > after)
      .toSorted((one, other) => one - other);
    const found: Letter[] = [];
    for (let start = 0; start < sequences.length && found.length < limit; start += AT_ONCE) {
      const part = sequences.slice(start, start + AT_ONCE);
      const read = await this.#read(part);
      found.push(...read.filter((letter) => (token ?? letter.token) === letter.token));
    }
    return found.slice(0, limit);
  }

  /** Which of those that were listed are there still, as the leader has it. */
  async there(sequences: readonly number[]): Promise<number[]> {
    return await patiently(this.#session, async () => {
      const found: number[] = [];
      for (let start = 0; start < sequences.length; start += AT_ONCE) {
        const read = await this.#read(sequences.slice(start, start + AT_ONCE));
        found.push(...read.map(({ sequence }) => sequence));
      }
      if (found.length < sequences.length) await this.#mustHave(Math.max(...sequences));
      return found;
    });
  }

  /** A new leader may not have come as far yet: what it does not have would be taken to be over. */
  async #mustHave(sequence: number): Promise<void> {
    const { store, names } = this.#session;
    const { last_seq } = await store.state(names.dead);
    if (sequence > last_seq) throw new Unanswered('the leader lags behind');
  }

  /** Those that are there. */
  async #read(sequences: readonly number[]): Promise<Letter[]> {
    const { store, names } = this.#session;
    const kept = await Promise.all(sequences.map((sequence) => store.get(names.dead, sequence)));
    return kept.filter((one) => one !== undefined).map(letterOf);
  }
}

const contentOf = ({ body, messageId, format, dateAt, countAt, origin, sizeBytes }: Whole) => ({
  stored: { messageId, format, bytes: body, dateAt, countAt },
  origin,
  sizeBytes,
});

const LETTER_ID = /^\d{1,15}$/;

const sequenceIn = (id: string): number | undefined =>
  LETTER_ID.test(id) ? Number(id) : undefined;
