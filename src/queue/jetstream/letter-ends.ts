/** What ends a dead letter: it is sent again after all, or given up. */
import type { SecurityEventError } from '../../errors.ts';
import type { DeadLetterFilter } from '../queue.ts';
import type { Letters } from './dead-letters.ts';
import type { FollowUps } from './follow-ups.ts';
import type { LetterPlace } from './letter-code.ts';
import type { LetterLists } from './letter-lists.ts';
import type { Row } from './row.ts';
import { purged, revived } from './row-ends.ts';
import type { Rows } from './rows.ts';
import type { View } from './view.ts';
import type { Work } from './work.ts';

interface Parts {
  readonly rows: Rows;
  readonly followUps: FollowUps;
  readonly letters: Letters;
  readonly letterLists: LetterLists;
}

/** So many applications at once: each takes some round trips. */
const TOKENS_AT_ONCE = 16;

type Ending = (row: Row, sequences: readonly number[]) => Row;

export class LetterEnds {
  readonly #work: Work;
  readonly #parts: Parts;

  constructor(work: Work, parts: Parts) {
    this.#work = work;
    this.#parts = parts;
  }

  /** Said by the rows first, and done by whoever finds it there. */
  async replay(filter: DeadLetterFilter): Promise<number> {
    const { letters, letterLists, followUps } = this.#parts;
    return await this.#sum(filter, async (view, places) => {
      const ended = await this.#end(view, places, revived);
      this.#work.brought(letters.lastRevived);
      // For which there was no room; or which could not be sent: what kept them is thrown then.
      const left = await letterLists.stillThere(ended);
      if (left.length > 0) await followUps.finish(view);
      return ended.length - left.length;
    });
  }

  /** Counted by the rows first: each once, and then deleted by whoever finds it there. */
  async purge(filter: DeadLetterFilter, as: 'purged' | 'moved'): Promise<number> {
    const ending: Ending = (row, sequences) => purged(row, sequences, as);
    return await this.#sum(filter, async (view, places) => {
      const ended = await this.#end(view, places, ending);
      return ended.length;
    });
  }

  /** An application whose row cannot be read does not keep the others from it: that is told at the end. */
  async #sum(
    filter: DeadLetterFilter,
    count: (view: View, places: readonly LetterPlace[]) => Promise<number>,
  ): Promise<number> {
    let unreadable: SecurityEventError | undefined;
    let sum = 0;
    for await (const parts of this.#pages(filter)) {
      const counted = await Promise.allSettled(
        parts.map(async (places) => {
          const view = this.#work.view(places[0]?.token ?? '');
          return await count(view, places).catch((error: unknown) => {
            if (error !== view.unreadable) throw error;
            unreadable ??= view.unreadable;
            return 0;
          });
        }),
      );
      for (const one of counted) {
        if (one.status === 'rejected') throw one.reason;
        sum += one.value;
      }
    }
    if (unreadable !== undefined) throw unreadable;
    return sum;
  }

  /**
   * Of one application; those that this has ended. Another process may have ended some of them since they were
   * listed, or before where the server that lists them lags behind. So they are looked for again, at the leader, once
   * the row is known: who has ended one before it has removed it, or the row names it, and who does so later makes the
   * row count it. As long as the row's count stays the same they need not be looked for again, however often
   * it is written meanwhile.
   */
  async #end(
    view: View,
    places: readonly LetterPlace[],
    ending: Ending,
  ): Promise<readonly LetterPlace[]> {
    const { rows, followUps, letterLists } = this.#parts;
    // Who has no feed knows no row, and would look for them in vain.
    await rows.refresh(view);
    let left = places;
    let lookedAt: number | undefined;
    const row = await rows.change(view, async (before) => {
      if (before.lettersEnded !== lookedAt) {
        const over = new Set([...before.deadGarbage, ...before.reviving]);
        left = await letterLists.stillThere(left.filter(({ sequence }) => !over.has(sequence)));
        lookedAt = before.lettersEnded;
      }
      const after = ending(
        before,
        left.map(({ sequence }) => sequence),
      );
      return after === before ? undefined : after;
    });
    // Also what another one began, who may have died, and what this one wrote though the answer was lost. It is
    // written: whoever comes next does what is left to do, where this fails.
    await followUps.finish(view).catch(() => {});
    return row === undefined ? [] : left;
  }

  /** Of one application each, some of them at a time. */
  async *#pages(filter: DeadLetterFilter): AsyncIterable<readonly (readonly LetterPlace[])[]> {
    for await (const places of this.#parts.letterLists.places(filter)) {
      const parts = byToken(places);
      for (let start = 0; start < parts.length; start += TOKENS_AT_ONCE) {
        yield parts.slice(start, start + TOKENS_AT_ONCE);
      }
    }
  }
}

function byToken(places: readonly LetterPlace[]): readonly (readonly LetterPlace[])[] {
  const tokens = new Map<string, LetterPlace[]>();
  for (const place of places) {
    const those = tokens.get(place.token);
    if (those === undefined) tokens.set(place.token, [place]);
    else those.push(place);
  }
  return [...tokens.values()];
}
