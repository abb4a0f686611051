/** Dead letters as the leader of their stream has them, by their sequences. */
import { Lagging } from './jetstream-failure.ts';
import { type Letter, type LetterPlace, letterOf } from './letter-code.ts';
import { patiently } from './patience.ts';
import type { Session } from './session.ts';

/** So many are asked for at once. */
const AT_ONCE = 500;

/** And so many bytes: a server cuts the connection of whoever has 64 MiB of answers yet to take. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

/** Of which only the sequence is known: as long as a message may be, unless the server allows more. */
const UNKNOWN_AT_ONCE = 32;

export class LetterReads {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Of those that were listed the ones that are there still, in their order. */
  async listed(places: readonly LetterPlace[]): Promise<Letter[]> {
    const found: Letter[] = [];
    for (const part of partsOf(places)) {
      const letters = await patiently(this.#session, () => this.#certainly(part));
      found.push(...letters);
    }
    return found;
  }

  /** As {@link listed}, without what is in them. */
  async stillThere(places: readonly LetterPlace[]): Promise<LetterPlace[]> {
    const found: LetterPlace[] = [];
    for (const part of partsOf(places)) {
      const letters = await patiently(this.#session, () => this.#certainly(part));
      const sequences = new Set(letters.map(({ sequence }) => sequence));
      found.push(...part.filter(({ sequence }) => sequences.has(sequence)));
    }
    return found;
  }

  /** Those that are there, if any was at all. */
  async named(sequences: readonly number[]): Promise<Letter[]> {
    const found: Letter[] = [];
    for (let start = 0; start < sequences.length; start += UNKNOWN_AT_ONCE) {
      found.push(...(await this.#read(sequences.slice(start, start + UNKNOWN_AT_ONCE))));
    }
    return found;
  }

  /** A new leader may not have come as far yet: what it does not have would be taken to be over. */
  async #certainly(places: readonly LetterPlace[]): Promise<Letter[]> {
    const { store, names } = this.#session;
    const letters = await this.#read(places.map(({ sequence }) => sequence));
    const last = places.at(-1);
    if (last === undefined || letters.length === places.length) return letters;
    const { last_seq } = await store.state(names.dead);
    if (last.sequence > last_seq) throw new Lagging('the leader lags behind');
    return letters;
  }

  async #read(sequences: readonly number[]): Promise<Letter[]> {
    const { store, names } = this.#session;
    const kept = await Promise.all(sequences.map((sequence) => store.get(names.dead, sequence)));
    return kept.filter((one) => one !== undefined).map(letterOf);
  }
}

/** Ascending, each of one at least. */
function* partsOf(places: readonly LetterPlace[]): Iterable<readonly LetterPlace[]> {
  let part: LetterPlace[] = [];
  let bytes = 0;
  for (const place of places) {
    const isFull = part.length === AT_ONCE || bytes + place.sizeBytes > BYTES_AT_ONCE;
    if (isFull && part.length > 0) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(place);
    bytes += place.sizeBytes;
  }
  if (part.length > 0) yield part;
}
