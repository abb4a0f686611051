/** What ends a dead letter: it is sent again after all, or given up. */
import type { DeadLetterFilter } from '../queue.ts';
import type { Letters } from './dead-letters.ts';
import type { FollowUps } from './follow-ups.ts';
import type { Letter } from './letter-code.ts';
import { purged, revived } from './row-ends.ts';
import type { Rows } from './rows.ts';
import type { Work } from './work.ts';

const PAGE = 500;

interface Parts {
  readonly rows: Rows;
  readonly followUps: FollowUps;
  readonly letters: Letters;
}

export class LetterEnds {
  readonly #work: Work;
  readonly #parts: Parts;

  constructor(work: Work, parts: Parts) {
    this.#work = work;
    this.#parts = parts;
  }

  /** Said by the rows first, and done by whoever finds it there. */
  async replay(filter: DeadLetterFilter): Promise<number> {
    let replayed = 0;
    for await (const page of this.#pages(filter)) {
      for (const [token, sequences] of page) replayed += await this.#replayOf(token, sequences);
    }
    return replayed;
  }

  async #replayOf(token: string, sequences: readonly number[]): Promise<number> {
    const { rows, followUps, letters } = this.#parts;
    const view = this.#work.view(token);
    let count = 0;
    const row = await rows.change(view, (before) => {
      const after = revived(before, sequences);
      count = after.reviving.length - before.reviving.length;
      return after === before ? undefined : after;
    });
    if (row === undefined) return 0;
    await followUps.run(view);
    this.#work.brought(letters.lastRevived);
    return count - (await this.#left(sequences));
  }

  /** For which there was no room. */
  async #left(sequences: readonly number[]): Promise<number> {
    const ids = sequences.map(String);
    const limit = ids.length;
    return (await this.#parts.letters.list({ ids, after: 0, limit, headersOnly: true })).length;
  }

  /** Counted by the rows first: each once, and then deleted by whoever finds it there. */
  async purge(filter: DeadLetterFilter, as: 'purged' | 'moved'): Promise<number> {
    let count = 0;
    for await (const page of this.#pages(filter)) {
      for (const [token, sequences] of page) count += await this.#purgeOf(token, sequences, as);
    }
    return count;
  }

  async #purgeOf(
    token: string,
    sequences: readonly number[],
    as: 'purged' | 'moved',
  ): Promise<number> {
    const { rows, followUps } = this.#parts;
    const view = this.#work.view(token);
    let count = 0;
    const row = await rows.change(view, (before) => {
      const after = purged(before, sequences, as);
      count = after.deadGarbage.length - before.deadGarbage.length;
      return after === before ? undefined : after;
    });
    if (row === undefined) return 0;
    await followUps.run(view);
    return count;
  }

  /** A part at a time: sequences by the tokens of their applications. */
  async *#pages(filter: DeadLetterFilter): AsyncIterable<Map<string, number[]>> {
    let after = 0;
    for (;;) {
      const asked = { ...filter, after, limit: PAGE, headersOnly: true };
      const page = await this.#parts.letters.list(asked);
      yield byToken(page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.sequence;
    }
  }
}

function byToken(letters: readonly Letter[]): Map<string, number[]> {
  const tokens = new Map<string, number[]>();
  for (const { token, sequence } of letters) {
    const sequences = tokens.get(token);
    if (sequences === undefined) tokens.set(token, [sequence]);
    else sequences.push(sequence);
  }
  return tokens;
}
