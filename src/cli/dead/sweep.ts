/** Replaying or discarding selected dead letters, page by page: the same command goes on with what is left. */
import type { DeadMessage } from '../../index.ts';
import type { OptionTable, OptionValues } from '../command.ts';
import { misuse } from '../failure.ts';
import { wholeNumber } from '../quantities.ts';
import type { Terminal } from '../terminal.ts';
import { SELECTION_OPTIONS, type Selection, walk } from './selection.ts';
import type { DeadLetters } from './until-ended.ts';

export const SWEEP_OPTIONS = {
  ...SELECTION_OPTIONS,
  all: { type: 'boolean', what: 'all of them, in the place of a selection' },
  'dry-run': { type: 'boolean', what: 'only says how many; nothing is changed' },
  json: { type: 'boolean', what: 'the result as one JSON object' },
} as const satisfies OptionTable;

/** So that a forgotten option does not mean everything. @throws CommandFailure with exit code 2 */
export function requireSelection(
  { application, reason, since, all }: OptionValues<typeof SWEEP_OPTIONS>,
  ids: readonly string[],
): void {
  const isSelected =
    ids.length > 0 || [application, reason, since].some((option) => option !== undefined);
  if (isSelected === (all === undefined)) return;
  throw misuse(
    isSelected ? 'expected --all or a selection, and not both' : 'nothing is selected',
    'Give ids, --application, --reason or --since; or --all for all dead letters.',
  );
}

/** How many there are at most: what dies after that is not of this call. */
async function mostOf(letters: DeadLetters, { applicationId, ids }: Selection): Promise<number> {
  const { dead, applications } = await letters.stats();
  const most = applicationId === undefined ? dead : (applications.get(applicationId)?.dead ?? 0);
  return Math.min(most, ids?.length ?? most);
}

/** What is done to letters; gives how many left, and whether going on is of no use. */
export type Act = (
  letters: readonly DeadMessage[],
) => Promise<{ readonly count: number; readonly isOver?: boolean }>;

export interface Sweep {
  readonly selection: Selection;
  /** In progress: `replayed`, `discarded`. */
  readonly done: string;
  readonly act: Act;
}

/** Resolves to how many left. Rejects as the terminal's signal says where it is ended between pages. */
export async function sweep(
  letters: DeadLetters,
  { selection, done, act }: Sweep,
  terminal: Terminal,
): Promise<number> {
  const most = await mostOf(letters, selection);
  const progress = new Progress(terminal);
  let [lookedAt, count] = [0, 0];
  try {
    for await (const page of walk(letters, selection, most)) {
      terminal.signal.throwIfAborted();
      lookedAt += page.lookedAt.length;
      const end = page.selected.length === 0 ? NOTHING : await act(page.selected);
      count += end.count;
      await progress.show(
        `${wholeNumber(lookedAt)} of ${wholeNumber(most)} looked at, ${wholeNumber(count)} ${done}`,
      );
      if (end.isOver === true) break;
    }
    return count;
  } finally {
    await progress.end();
    if (terminal.signal.aborted) {
      await terminal.errors.write(`${wholeNumber(count)} ${done}; the same command goes on.\n`);
    }
  }
}

const NOTHING: Awaited<ReturnType<Act>> = { count: 0 };

/** One line that is written over, where somebody looks. */
class Progress {
  readonly #terminal: Terminal;
  #isShown = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  async show(text: string): Promise<void> {
    const { errors, environment } = this.#terminal;
    // One that is dumb prints what should clear the line.
    if (!errors.isTerminal || environment['TERM'] === 'dumb') return;
    this.#isShown = true;
    await errors.write(`\r\u001B[K${text}`);
  }

  async end(): Promise<void> {
    if (this.#isShown) await this.#terminal.errors.write('\r\u001B[K');
  }
}
