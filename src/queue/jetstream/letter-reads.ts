/** Dead letters as the leader of their stream has them, by their sequences. */
import { certainly } from './certainly.ts';
import { Lagging } from './jetstream-failure.ts';
import { type Letter, type LetterPlace, letterOf } from './letter-code.ts';
import { LAG_MS, patiently } from './patience.ts';
import type { Session } from './session.ts';

/** So many whose sizes are known are held at once. */
const AT_ONCE = 500;

/** And so many bytes of them. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

export class LetterReads {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Of those that were listed the ones that are there still, in their order. */
  async listed(places: readonly LetterPlace[]): Promise<Letter[]> {
    const found: Letter[] = [];
    for (const part of partsOf(places)) found.push(...(await this.#there(part)));
    return found;
  }

  /** As {@link listed}, without what is in them. */
  async stillThere(places: readonly LetterPlace[]): Promise<LetterPlace[]> {
    const found: LetterPlace[] = [];
    for (const part of partsOf(places)) {
      const sequences = new Set((await this.#there(part)).map(({ sequence }) => sequence));
      found.push(...part.filter(({ sequence }) => sequences.has(sequence)));
    }
    return found;
  }

  async #there(places: readonly LetterPlace[]): Promise<Letter[]> {
    const sequences = places.map(({ sequence }) => sequence);
    const sizes = new Map(places.map(({ sequence, sizeBytes }) => [sequence, sizeBytes]));
    return await patiently(this.#session, () => this.#certainly(sequences, sizes));
  }

  /** Those that are there, if any was at all. */
  async named(sequences: readonly number[]): Promise<Letter[]> {
    return [...(await this.#read(sequences)).values()];
  }

  /** As {@link named}, of those that were there: what the leader does not have may have yet to come there. */
  async known(sequences: readonly number[]): Promise<Letter[]> {
    const { clock } = this.#session;
    try {
      return await patiently({ clock, callTimeoutMs: LAG_MS }, () => this.#certainly(sequences));
    } catch (error) {
      if (!(error instanceof Lagging)) throw error;
      // Its stream lost its end: they are gone for good.
      return await this.named(sequences);
    }
  }

  async #certainly(
    sequences: readonly number[],
    sizes: ReadonlyMap<number, number> = new Map(),
  ): Promise<Letter[]> {
    const asked = { stream: this.#session.names.dead, sequences };
    const found = await certainly(this.#session, asked, (some) => this.#read(some, sizes));
    return sequences.flatMap((sequence) => found.get(sequence) ?? []);
  }

  async #read(
    sequences: readonly number[],
    sizes: ReadonlyMap<number, number> = new Map(),
  ): Promise<Map<number, Letter>> {
    const { store, names } = this.#session;
    const kept = await Promise.all(
      sequences.map((sequence) => store.get(names.dead, sequence, sizes.get(sequence))),
    );
    const letters = kept.filter((one) => one !== undefined).map(letterOf);
    return new Map(letters.map((letter) => [letter.sequence, letter]));
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
