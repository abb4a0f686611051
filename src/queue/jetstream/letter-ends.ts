/** What ends a dead letter: it is sent again after all, or given up. */
import type { DeadLetterFilter } from '../queue.ts';
import type { Letters, Place } from './dead-letters.ts';
import type { FollowUps } from './follow-ups.ts';
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
    let left = sequences;
    const row = await rows.change(view, async (before) => {
      left = await letters.there(left);
      const after = revived(before, left);
      count = after.reviving.length - before.reviving.length;
      return after === before ? undefined : after;
    });
    if (row === undefined) return 0;
    await followUps.run(view);
    this.#work.brought(letters.lastRevived);
    // For which there was no room.
    return count - (await letters.there(left)).length;
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
    const { rows, followUps, letters } = this.#parts;
    const view = this.#work.view(token);
    let count = 0;
    let left = sequences;
    const row = await rows.change(view, async (before) => {
      left = await letters.there(left);
      const after = purged(before, left, as);
      count = after.deadGarbage.length - before.deadGarbage.length;
      return after === before ? undefined : after;
    });
    if (row === undefined) return 0;
    await followUps.run(view);
    return count;
  }

  /**
   * A part at a time: sequences by the tokens of their applications. Another process may have ended some of them
   * since, or before where the server that lists them lags behind. So they are looked for again, at the leader, once
   * the row is known that says what ends: who ended them before it has removed them, or the row tells of them, and
   * who does so after it changes the row.
   */
  async *#pages(filter: DeadLetterFilter): AsyncIterable<Map<string, number[]>> {
    let after = 0;
    for (;;) {
      const page = await this.#parts.letters.places({ ...filter, after, limit: PAGE });
      yield byToken(page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.sequence;
    }
  }
}

function byToken(letters: readonly Place[]): Map<string, number[]> {
  const tokens = new Map<string, number[]>();
  for (const { token, sequence } of letters) {
    const sequences = tokens.get(token);
    if (sequences === undefined) tokens.set(token, [sequence]);
    else sequences.push(sequence);
  }
  return tokens;
}
