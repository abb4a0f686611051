/** `dead replay` and `dead purge`: page by page, so that an interrupted command can be repeated. */
import type { DeadMessage } from '../../index.ts';
import {
  type CommandCall,
  defineCommand,
  flag,
  JSON_OPTION,
  type OptionValues,
} from '../command.ts';
import { usageError } from '../errors.ts';
import { jsonLine, printable, showProgress, type Terminal } from '../terminal.ts';
import { counted, wholeNumber } from '../values.ts';
import {
  type DeadLetters,
  pagesOf,
  QUEUE_OPTIONS,
  reportUnknown,
  SELECTION_OPTIONS,
  type Selection,
  selectionOf,
  withDeadLetters,
} from './letters.ts';

const CHANGE_OPTIONS = {
  ...QUEUE_OPTIONS,
  ...SELECTION_OPTIONS,
  all: flag('All dead letters, instead of a selection.'),
  'dry-run': flag('Only count; change nothing.'),
  ...JSON_OPTION,
} as const;

type ChangeOptions = OptionValues<typeof CHANGE_OPTIONS>;

/** A forgotten option must not mean everything. @throws CommandError with exit code 2 */
function requireSelection({ all, ...options }: ChangeOptions, ids: readonly string[]): void {
  const { application, reason, since } = options;
  const filters = [application, reason, since].filter((option) => option !== undefined);
  const isSelected = ids.length + filters.length > 0;
  if (isSelected === (all === undefined)) return;
  throw usageError(
    isSelected ? 'give --all or a selection, not both' : 'nothing selected',
    'Give ids, --application, --reason or --since; or --all for all dead letters.',
  );
}

/** Returns how many letters of the page it changed, and whether continuing is pointless. */
export type Change = (
  page: readonly DeadMessage[],
) => Promise<{ readonly count: number; readonly isOver?: boolean }>;

export interface Changed {
  readonly count: number;
  /** Given ids that no dead letter has. */
  readonly unknown: Set<string>;
}

/** Applies a change to all selected letters. */
export async function changeAll(
  letters: DeadLetters,
  { selection, change }: { readonly selection: Selection; readonly change: Change },
  terminal: Terminal,
): Promise<Changed> {
  const { errors, signal } = terminal;
  const { applicationId, ids } = selection;
  const { dead, applications } = await letters.stats();
  const present = applicationId === undefined ? dead : (applications.get(applicationId)?.dead ?? 0);
  // Letters that die meanwhile must not be replayed again and again.
  const most = Math.min(present, ids?.length ?? present);
  const unknown = new Set(ids);
  let count = 0;
  try {
    for await (const page of pagesOf(letters, selection, most)) {
      signal.throwIfAborted();
      for (const { id } of page) unknown.delete(id);
      const result = page.length === 0 ? { count: 0 } : await change(page);
      count += result.count;
      await showProgress(terminal, `${wholeNumber(count)} of ${wholeNumber(most)} done`);
      if (result.isOver === true) break;
    }
    return { count, unknown };
  } finally {
    await showProgress(terminal, '');
    if (signal.aborted) {
      await errors.write(`${wholeNumber(count)} done. Run the same command to continue.\n`);
    }
  }
}

const idsOf = (page: readonly DeadMessage[]): string[] => page.map(({ id }) => id);

/** Replays pages, and finds out why some letters stay dead. */
export class Replay {
  readonly #letters: DeadLetters;
  readonly #reopens: boolean;
  /** Letters that stay dead, by their closed application. */
  readonly closed: Record<string, number> = {};
  /** Whether letters stay dead because the queue is full. */
  isFull = false;

  constructor(letters: DeadLetters, reopens: boolean) {
    this.#letters = letters;
    this.#reopens = reopens;
  }

  readonly change: Change = async (page) => {
    if (this.#reopens) {
      const closed = await this.#closedApplications();
      const named = new Set(page.map(({ applicationId }) => applicationId));
      for (const id of named) if (closed.has(id)) await this.#letters.reopen(id);
    }
    const ids = idsOf(page);
    const count = await this.#letters.replay({ ids });
    if (count < ids.length) await this.#explainRest(ids);
    return { count, isOver: this.isFull };
  };

  async #explainRest(ids: readonly string[]): Promise<void> {
    const { items } = await this.#letters.deadLetters({ ids, limit: ids.length });
    const closed = await this.#closedApplications();
    for (const { applicationId } of items) {
      if (!closed.has(applicationId)) this.isFull = true;
      else this.closed[applicationId] = (this.closed[applicationId] ?? 0) + 1;
    }
  }

  async #closedApplications(): Promise<ReadonlySet<string>> {
    const { applications } = await this.#letters.stats();
    return new Set([...applications].flatMap(([id, { tier }]) => (tier === 'closed' ? [id] : [])));
  }
}

const countOnly: Change = async (page) => ({ count: page.length });

interface Work extends Pick<CommandCall, 'words' | 'terminal'> {
  readonly options: ChangeOptions;
  /** `replayed` */
  readonly done: string;
  readonly changeBy: (letters: DeadLetters) => Change;
}

async function changeSelected({ options, words, terminal, done, changeBy }: Work) {
  requireSelection(options, words);
  const selection = selectionOf(options, words, terminal);
  const isDryRun = options['dry-run'] === true;
  const { count, unknown } = await withDeadLetters(options, terminal, (letters) => {
    const change = isDryRun ? countOnly : changeBy(letters);
    return changeAll(letters, { selection, change }, terminal);
  });
  const text = `${counted(count, 'dead letter')} ${isDryRun ? `would be ${done}` : done}\n`;
  if (options.json === undefined) await terminal.output.write(text);
  const exitCode = await reportUnknown(unknown, terminal);
  return { exitCode, facts: { [done]: count, isDryRun, unknown: [...unknown] } };
}

const replay = defineCommand({
  summary: 'Queues dead letters again. The running service delivers them.',
  usage: '[ID…]',
  options: {
    ...CHANGE_OPTIONS,
    reopen: flag('Also reopen destinations that closed after answering 410.'),
  },
  notes: [
    'Messages keep their ids, so receivers recognise duplicates; their retry_count continues. You can ' +
      'repeat an interrupted command: nothing is replayed twice.',
    'Exits with 1 if an id is unknown, a destination is closed or the queue is full.',
  ],
  examples: [
    'security-events dead replay --sqlite ./webhooks.db --all --dry-run',
    'security-events dead replay --postgres --application shop-1 --since 3d',
  ],
  async run({ options, words, terminal }) {
    const { output, errors } = terminal;
    let found: Pick<Replay, 'closed' | 'isFull'> = { closed: {}, isFull: false };
    const changeBy = (letters: DeadLetters): Change => {
      const run = new Replay(letters, options.reopen === true);
      found = run;
      return run.change;
    };
    const work = { options, words, terminal, done: 'replayed', changeBy };
    const { exitCode, facts } = await changeSelected(work);
    const { closed, isFull } = found;
    if (options.json) await output.write(jsonLine({ ...facts, closed, isFull }));
    for (const [id, left] of Object.entries(closed)) {
      const what = `${wholeNumber(left)} of ${printable(id)} not replayed`;
      await errors.write(`${what}: the destination answered 410 and is closed. Use --reopen.\n`);
    }
    if (isFull) await errors.write('The queue is full. Replay the rest after deliveries.\n');
    return isFull || Object.keys(closed).length > 0 ? 1 : exitCode;
  },
});

const purgeBy =
  (letters: DeadLetters): Change =>
  async (page) => ({ count: await letters.purge({ ids: idsOf(page) }) });

const purge = defineCommand({
  summary: 'Deletes dead letters permanently.',
  usage: '[ID…]',
  options: CHANGE_OPTIONS,
  notes: ['Exits with 1 if an id is unknown.'],
  examples: ['security-events dead purge --postgres --reason too-large --dry-run'],
  async run({ options, words, terminal }) {
    const work = { options, words, terminal, done: 'deleted', changeBy: purgeBy };
    const { exitCode, facts } = await changeSelected(work);
    if (options.json) await terminal.output.write(jsonLine(facts));
    return exitCode;
  },
});

export const changingCommands = { 'dead replay': replay, 'dead purge': purge };
