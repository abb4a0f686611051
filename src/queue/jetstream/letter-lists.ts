/** Dead letters as they are looked for: in pages, by their ids, and how many there are. */
import type { DeadLetterFilter, DeadLetterPage } from '../queue.ts';
import { EndedLetters, type Parts } from './ended-letters.ts';
import { type Letter, type LetterPlace, placeOf, placeOfLetter } from './letter-code.ts';
import { LetterCounts } from './letter-counts.ts';
import { LetterReads } from './letter-reads.ts';
import { tokenOf } from './names.ts';
import { listed } from './reading.ts';
import type { Session } from './session.ts';
import type { Work } from './work.ts';

/** So many are given at once to whoever goes through all. */
const PAGE = 500;

/** And so many of which only the sequence is known: each may be as long as a message may be. */
const NAMED_PAGE = 32;

/** So many are listed at least, and read: a list of one takes as long as a page. */
const MIN_LISTED = 100;
const MIN_READ = 8;

/** The stream holds nothing else; for its own subjects a server looks longer for the last one the more there are. */
const ALL = '>';

interface Listing extends DeadLetterFilter {
  /** Behind this sequence. */
  readonly after: number;
  readonly limit: number;
}

export interface PageRequest extends DeadLetterFilter {
  readonly limit: number;
  readonly after?: string;
}

export class LetterLists {
  readonly #session: Session;
  readonly #work: Pick<Work, 'surrounding'>;
  readonly #reads: LetterReads;
  readonly #ended: EndedLetters;
  readonly #counts: LetterCounts;

  constructor(session: Session, work: Pick<Work, 'surrounding' | 'view'>, parts: Parts) {
    this.#session = session;
    this.#work = work;
    this.#reads = new LetterReads(session);
    this.#ended = new EndedLetters(work, parts, (places) => this.stillThere(places));
    this.#counts = new LetterCounts(session, () => work.surrounding);
  }

  /** By token. */
  async counts(): Promise<ReadonlyMap<string, number>> {
    return await this.#counts.read();
  }

  /** As the leader has them: what has ended is not among them. */
  async page({ limit, after, ...filter }: PageRequest): Promise<DeadLetterPage> {
    const asked = {
      ...filter,
      after: sequenceIn(after ?? '') ?? 0,
      // One more than is shown tells whether there is another page.
      limit: limit + 1,
    };
    const found = await (filter.ids === undefined ? this.#found(asked) : this.#foundById(asked));
    const items = found.slice(0, limit).map(({ shown }) => shown);
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  async #found({ limit, after, ...filter }: Listing): Promise<Letter[]> {
    let found: Letter[] = [];
    for (let behind = after; ; ) {
      const wanted = Math.max(limit - found.length, MIN_LISTED);
      const places = await this.#listed({ ...filter, after: behind, limit: wanted });
      found = found.concat(await this.#notEnded(places, limit - found.length));
      const last = places.at(-1);
      if (last === undefined || places.length < wanted || found.length >= limit) return found;
      behind = last.sequence;
    }
  }

  /** Of these so many that have not ended, or a few more. */
  async #notEnded(places: readonly LetterPlace[], count: number): Promise<readonly Letter[]> {
    const found: Letter[] = [];
    for (let start = 0; start < places.length && found.length < count; ) {
      const part = places.slice(start, start + Math.max(count - found.length, MIN_READ));
      found.push(...(await this.#ended.without(await this.#reads.listed(part))));
      start += part.length;
    }
    return found;
  }

  async #foundById(asked: Listing): Promise<Letter[]> {
    const found: Letter[] = [];
    for await (const letters of this.#named(asked)) {
      found.push(...(await this.#ended.without(letters)));
      if (found.length >= asked.limit) break;
    }
    return found;
  }

  /** A part at a time, oldest first; what was removed lately may be among them. */
  async *places(filter: DeadLetterFilter): AsyncIterable<readonly LetterPlace[]> {
    if (filter.ids !== undefined) {
      for await (const letters of this.#named({ ...filter, after: 0 }))
        yield letters.map(placeOfLetter);
      return;
    }
    for (let after = 0; ; ) {
      const places = await this.#listed({ ...filter, after, limit: PAGE });
      yield places;
      const last = places.at(-1);
      if (last === undefined || places.length < PAGE) return;
      after = last.sequence;
    }
  }

  /** Which of these are, as the leader has them. */
  async stillThere(places: readonly LetterPlace[]): Promise<LetterPlace[]> {
    return await this.#reads.stillThere(places);
  }

  /** From whichever server has them. */
  async #listed({ applicationId, after, limit }: Listing): Promise<LetterPlace[]> {
    const { names } = this.#session;
    const kept = await listed(this.#session, this.#work.surrounding, {
      stream: names.dead,
      subjects: applicationId === undefined ? ALL : names.lettersOf(tokenOf(applicationId)),
      headersOnly: true,
      after,
      limit,
    });
    return kept.map(placeOf);
  }

  async *#named({
    applicationId,
    ids = [],
    after,
  }: Omit<Listing, 'limit'>): AsyncIterable<readonly Letter[]> {
    const token = applicationId === undefined ? undefined : tokenOf(applicationId);
    const sequences = [...new Set(ids.map(sequenceIn))]
      .filter((sequence) => sequence !== undefined)
      .filter((sequence) => sequence > after)
      .toSorted((one, other) => one - other);
    for (let start = 0; start < sequences.length; start += NAMED_PAGE) {
      const letters = await this.#reads.named(sequences.slice(start, start + NAMED_PAGE));
      yield letters.filter((letter) => (token ?? letter.token) === letter.token);
    }
  }
}

const LETTER_ID = /^\d{1,15}$/;

const sequenceIn = (id: string): number | undefined =>
  LETTER_ID.test(id) ? Number(id) : undefined;
