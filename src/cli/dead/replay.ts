/** `dead replay` and `dead purge`. They change one page at a time, so they can be interrupted and repeated. */
import type { DeadMessage } from '../../index.ts';
import { ownProperties } from '../../own-properties.ts';
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

/** Requires --all, so that a forgotten option does not select everything. @throws CommandError with exit code 2 */
function requireSelection(
  { all, application, reason, since }: OptionValues<typeof CHANGE_OPTIONS>,
  ids: readonly string[],
): void {
  const isSelected = ids.length > 0 || (application ?? reason ?? since) !== undefined;
  if (isSelected === (all === undefined)) return;
  throw usageError(
    isSelected ? 'give --all or a selection, not both' : 'nothing selected',
    'Give ids, --application, --reason or --since; or --all for all dead letters.',
  );
}

export interface Progress {
  count: number;
  /** Given ids without a dead letter. */
  readonly unknown: Set<string>;
  /** Number of letters that stay dead because their destination is closed, by application. */
  readonly closed: Record<string, number>;
  /** Whether letters stay dead because the queue is full. */
  isFull: boolean;
}

/** Changes the letters of a page, and updates `progress`. */
export type Change = (
  letters: DeadLetters,
  page: readonly DeadMessage[],
  progress: Progress,
) => Promise<void>;

export async function changeAll(
  letters: DeadLetters,
  { selection, change }: { readonly selection: Selection; readonly change: Change },
  terminal: Terminal,
): Promise<Progress> {
  const { errors, signal } = terminal;
  const { applicationId, ids, reason, sinceMs, limit = Number.POSITIVE_INFINITY } = selection;
  const { dead, applications } = await letters.stats();
  const present = applicationId === undefined ? dead : (applications.get(applicationId)?.dead ?? 0);
  // Without this limit, letters that fail again meanwhile would be replayed again and again.
  const maxRead = Math.min(present, ids?.length ?? present);
  // With a reason or a time, the number of selected letters is unknown.
  const isKnown = reason === undefined && sinceMs === undefined;
  const total = isKnown ? ` of ${wholeNumber(Math.min(maxRead, limit))}` : '';
  // Without a prototype, since an application may have the id `__proto__`.
  const closed: Progress['closed'] = ownProperties({});
  const progress: Progress = { count: 0, unknown: new Set(ids), closed, isFull: false };
  try {
    for await (const page of pagesOf(letters, selection, maxRead)) {
      signal.throwIfAborted();
      for (const { id } of page) progress.unknown.delete(id);
      if (page.length > 0) await change(letters, page, progress);
      await showProgress(terminal, `${wholeNumber(progress.count)}${total} done`);
      if (progress.isFull) break;
    }
    return progress;
  } finally {
    await showProgress(terminal, '');
    if (signal.aborted) {
      await errors.write(
        `${wholeNumber(progress.count)} done. Run the same command to continue.\n`,
      );
    }
  }
}

const idsOf = (page: readonly DeadMessage[]): string[] => page.map(({ id }) => id);

/** Replays letters, and finds out why some stay dead. */
export const replayPage =
  (reopens: boolean): Change =>
  async (letters, page, progress) => {
    if (reopens) {
      const closed = await closedApplications(letters);
      const onPage = new Set(page.map(({ applicationId }) => applicationId));
      for (const id of onPage) if (closed.has(id)) await letters.reopen(id);
    }
    let left = idsOf(page);
    for (let isAgain = false; ; isAgain = true) {
      const count = await letters.replay({ ids: left });
      progress.count += count;
      if (count === left.length) return;
      const { items } = await letters.deadLetters({ ids: left, limit: left.length });
      const open = idsOf(await countClosed(letters, items, progress));
      // Not after the first try: a service may have reopened the destinations meanwhile.
      progress.isFull = isAgain && open.length === left.length;
      if (progress.isFull || open.length === 0) return;
      left = open;
    }
  };

/** Counts the letters of closed destinations, and returns the others. */
async function countClosed(
  letters: DeadLetters,
  page: readonly DeadMessage[],
  progress: Progress,
): Promise<DeadMessage[]> {
  const closed = await closedApplications(letters);
  for (const { applicationId: id } of page)
    if (closed.has(id)) progress.closed[id] = (progress.closed[id] ?? 0) + 1;
  return page.filter(({ applicationId }) => !closed.has(applicationId));
}

async function closedApplications(letters: DeadLetters): Promise<ReadonlySet<string>> {
  const { applications } = await letters.stats();
  return new Set(
    [...applications].flatMap(([id, { health }]) => (health === 'closed' ? [id] : [])),
  );
}

const countAll: Change = async (_letters, page, progress) => {
  progress.count += page.length;
};

const countReplayable: Change = async (letters, page, progress) => {
  progress.count += (await countClosed(letters, page, progress)).length;
};

interface Kind {
  /** `replayed` */
  readonly done: string;
  /** The key of the count of a dry run, in JSON. */
  readonly wouldBeDone: string;
  readonly change: Change;
}

/** Changes or counts the selected letters, and prints the result. */
async function run(
  { options, positionals, terminal }: CommandCall<typeof CHANGE_OPTIONS>,
  { done, wouldBeDone, change }: Kind,
): Promise<0 | 1> {
  requireSelection(options, positionals);
  const selection = selectionOf(options, positionals, terminal);
  const isDryRun = options['dry-run'] === true;
  const { count, unknown, closed, isFull } = await withDeadLetters(options, terminal, (letters) =>
    changeAll(letters, { selection, change }, terminal),
  );
  const { output, errors } = terminal;
  const counts = { [isDryRun ? wouldBeDone : done]: count };
  const facts = { ...counts, isDryRun, unknown: [...unknown], closed, isFull };
  const text = `${counted(count, 'dead letter')} ${isDryRun ? 'would be ' : ''}${done}\n`;
  await output.write(options.json ? jsonLine(facts) : text);
  const exitCode = await reportUnknown(unknown, terminal);
  for (const [id, left] of Object.entries(closed)) {
    const what = `${wholeNumber(left)} of ${printable(id)} ${isDryRun ? 'would not be' : 'not'} ${done}`;
    await errors.write(`${what}: the destination answered 410 and is closed. Use --reopen.\n`);
  }
  if (isFull)
    await errors.write('The queue is full. Replay the rest once messages have been delivered.\n');
  return isFull || Object.keys(closed).length > 0 ? 1 : exitCode;
}

const replay = defineCommand({
  summary: 'Queues dead letters again. The running service delivers them.',
  usage: '[ID…]',
  options: {
    ...CHANGE_OPTIONS,
    reopen: flag('Also reopen destinations that closed after answering 410.'),
  },
  notes: [
    'Messages keep their ids, so receivers recognise duplicates; their retry_count continues. You ' +
      'can repeat an interrupted command: nothing is replayed twice.',
    'Exits with 1 if an id is unknown, a destination is closed or the queue is full.',
  ],
  examples: [
    'security-events dead replay --sqlite ./webhooks.db --all --dry-run',
    'security-events dead replay --postgres --application shop-1 --since 3d',
  ],
  run: (call) => {
    const { reopen = false, 'dry-run': isDryRun } = call.options;
    const count = reopen ? countAll : countReplayable;
    const change = isDryRun ? count : replayPage(reopen);
    return run(call, { done: 'replayed', wouldBeDone: 'wouldBeReplayed', change });
  },
});

const purgePage: Change = async (letters, page, progress) => {
  progress.count += await letters.purge({ ids: idsOf(page) });
};

const purge = defineCommand({
  summary: 'Deletes dead letters permanently.',
  usage: '[ID…]',
  options: CHANGE_OPTIONS,
  notes: ['Exits with 1 if an id is unknown.'],
  examples: ['security-events dead purge --postgres --reason too-large --dry-run'],
  run: (call) => {
    const change = call.options['dry-run'] ? countAll : purgePage;
    return run(call, { done: 'deleted', wouldBeDone: 'wouldBeDeleted', change });
  },
});

export const changingCommands = { 'dead replay': replay, 'dead purge': purge };
