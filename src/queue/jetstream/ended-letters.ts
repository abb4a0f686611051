/** Letters that their row has ended, and that lie in their stream still: who began it may have been killed since. */
import type { FollowUps } from './follow-ups.ts';
import { type Letter, type LetterPlace, placeOfLetter } from './letter-code.ts';
import type { Rows } from './rows.ts';
import type { View } from './view.ts';
import type { Work } from './work.ts';

/** So many rows are read at once: each may be as long as a message may be. */
const ROWS_AT_ONCE = 16;

export interface Parts {
  readonly rows: Rows;
  readonly followUps: FollowUps;
}

type StillThere = (places: readonly LetterPlace[]) => Promise<readonly LetterPlace[]>;

export class EndedLetters {
  readonly #work: Pick<Work, 'view'>;
  readonly #parts: Parts;
  readonly #stillThere: StillThere;

  constructor(work: Pick<Work, 'view'>, parts: Parts, stillThere: StillThere) {
    this.#work = work;
    this.#parts = parts;
    this.#stillThere = stillThere;
  }

  /** Without these. What was begun is finished first: for what was to wait again there may be no room. */
  async without(letters: readonly Letter[]): Promise<readonly Letter[]> {
    const tokens = [...new Set(letters.map(({ token }) => token))];
    const over = new Set<number>();
    for (let start = 0; start < tokens.length; start += ROWS_AT_ONCE) {
      const part = tokens.slice(start, start + ROWS_AT_ONCE);
      const ended = await Promise.all(
        part.map((token) => {
          const those = letters.filter((letter) => letter.token === token);
          return this.#endedOf(this.#work.view(token), those);
        }),
      );
      for (const sequence of ended.flat()) over.add(sequence);
    }
    return letters.filter(({ sequence }) => !over.has(sequence));
  }

  async #endedOf(view: View, letters: readonly Letter[]): Promise<readonly number[]> {
    const { rows, followUps } = this.#parts;
    await rows.refresh(view).catch((error: unknown) => {
      if (error !== view.unreadable) throw error;
    });
    // They are shown all the same.
    if (view.unreadable !== undefined) return [];
    const begun = namedOf(view, letters);
    if (begun.length === 0) return [];
    // Where that fails they are on their way: whoever comes next goes on.
    await followUps.finish(view).catch(() => {});
    const yet = new Set(namedOf(view, begun).map(({ sequence }) => sequence));
    const left = await this.#stillThere(begun.map(placeOfLetter));
    const there = new Set(left.map(({ sequence }) => sequence));
    const sequences = begun.map(({ sequence }) => sequence);
    return sequences.filter((sequence) => yet.has(sequence) || !there.has(sequence));
  }
}

function namedOf({ state }: View, letters: readonly Letter[]): readonly Letter[] {
  const named = new Set([...state.deadGarbage, ...state.reviving]);
  return letters.filter(({ sequence }) => named.has(sequence));
}
