/** Dead letters: a stream of their own, in the order of death, each with a subject of its own. */
import type { DeadLetterFilter, DeadLetterPage, QueueEntry } from '../queue.ts';
import type { Bodies, Whole } from './bodies.ts';
import { sentOnceMore, toldOf } from './envelope.ts';
import { isFull } from './jetstream-failure.ts';
import { type Draft, type Letter, letterOf, toldWithin } from './letter-code.ts';
import { LetterCounts } from './letter-counts.ts';
import { tokenOf } from './names.ts';
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
  readonly headersOnly: boolean;
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
    const found = await this.list({
      ...filter,
      after: sequenceIn(after ?? '') ?? 0,
      // One more than is shown tells whether there is another page.
      limit: limit + 1,
      headersOnly: false,
    });
    const items = found.slice(0, limit).map(({ shown }) => shown);
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  /** Oldest first. */
  async list({ applicationId, ids, ...asked }: Listing): Promise<Letter[]> {
    const { names } = this.#session;
    const token = applicationId === undefined ? undefined : tokenOf(applicationId);
    if (ids !== undefined) return await this.#named(ids, token, asked);
    const kept = await listed(this.#work.surrounding, {
      stream: names.dead,
      subjects: token === undefined ? names.deadSubjects : names.lettersOf(token),
      ...asked,
    });
    return kept.map(letterOf);
  }

  async #named(
    ids: readonly string[],
    token: string | undefined,
    { after, limit }: Pick<Listing, 'after' | 'limit'>,
  ): Promise<Letter[]> {
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
