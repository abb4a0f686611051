/** Replaying what is selected, and why some of it stays dead. */
import type { DeadMessage } from '../../index.ts';
import type { Terminal } from '../terminal.ts';
import type { Selection } from './selection.ts';
import { sweep } from './sweep.ts';
import { unknownIds } from './unknown-ids.ts';
import type { DeadLetters } from './until-ended.ts';

export interface Replayed {
  readonly replayed: number;
  readonly isDryRun: boolean;
  /** By application that is closed: how many stay dead. */
  readonly closed: Readonly<Record<string, number>>;
  /** Whether some stay dead since the queue has no room for them. */
  readonly isFull: boolean;
  readonly unknown: readonly string[];
}

class Replay {
  readonly #letters: DeadLetters;
  readonly #closed = new Map<string, number>();
  isFull = false;

  constructor(letters: DeadLetters) {
    this.#letters = letters;
  }

  get closed(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#closed);
  }

  async reopen(page: readonly DeadMessage[]): Promise<void> {
    const closed = await this.#closedOnes();
    const meant = new Set(page.map(({ applicationId }) => applicationId));
    for (const id of meant) if (closed.has(id)) await this.#letters.reopen(id);
  }

  async page(page: readonly DeadMessage[]) {
    const ids = page.map(({ id }) => id);
    const count = await this.#letters.replay({ ids });
    if (count < ids.length) await this.#lookAtRest(ids);
    return { count, isOver: this.isFull };
  }

  /** With a service at work they may also be gone meanwhile: replayed or discarded by somebody else. */
  async #lookAtRest(ids: readonly string[]): Promise<void> {
    const { items } = await this.#letters.deadLetters({ ids, limit: ids.length });
    const closed = await this.#closedOnes();
    for (const { applicationId } of items) {
      if (!closed.has(applicationId)) this.isFull = true;
      else this.#closed.set(applicationId, (this.#closed.get(applicationId) ?? 0) + 1);
    }
  }

  async #closedOnes(): Promise<ReadonlySet<string>> {
    const { applications } = await this.#letters.stats();
    return new Set([...applications].flatMap(([id, { tier }]) => (tier === 'closed' ? [id] : [])));
  }
}

export interface ReplayWanted {
  readonly selection: Selection;
  readonly isDryRun: boolean;
  readonly reopens: boolean;
}

export async function replaySelected(
  letters: DeadLetters,
  { selection, isDryRun, reopens }: ReplayWanted,
  terminal: Terminal,
): Promise<Replayed> {
  const unknown = await unknownIds(letters, selection);
  const replay = new Replay(letters);
  const replayed = await sweep(
    letters,
    {
      selection,
      done: isDryRun ? 'selected' : 'replayed',
      act: async (page) => {
        if (isDryRun) return { count: page.length };
        if (reopens) await replay.reopen(page);
        return await replay.page(page);
      },
    },
    terminal,
  );
  const { closed, isFull } = replay;
  return { replayed, isDryRun, closed, isFull, unknown };
}
