/** Opens a queue, and reads the dead letters that the options select. */
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import {
  createWebhookSender,
  type DeadMessage,
  type DeadReason,
  type MessageQueue,
  type WebhookSender,
} from '../../index.ts';
import { createPostgresQueue } from '../../queue/postgres.ts';
import { createSqliteQueue } from '../../queue/sqlite.ts';
import { flag, type OptionValues, option } from '../command.ts';
import { environmentError, usageError } from '../errors.ts';
import { paint, printable, type Terminal } from '../terminal.ts';
import { durationOf, integerOf, oneOf } from '../values.ts';

export const QUEUE_OPTIONS = {
  sqlite: option('FILE', 'Queue in this SQLite file, which services may be using.'),
  postgres: flag(
    'Queue in PostgreSQL, at DATABASE_URL or at PGHOST, PGUSER, PGPASSWORD and so on.',
  ),
  schema: option('NAME', 'PostgreSQL schema of the queue. Default security_events.'),
  'transaction-pooling': flag('Connect through a transaction pooler such as PgBouncer.'),
} as const;

type QueueOptions = OptionValues<typeof QUEUE_OPTIONS>;

/** @throws CommandError with exit code 2; it does not quote the connection string */
function refuseConnectionStrings(args: readonly string[]): void {
  if (!args.some((arg) => /^(?:postgres(?:ql)?|socket):/i.test(arg))) return;
  throw usageError(
    'a connection string cannot be an argument',
    'Other users can see arguments in the process list. Set DATABASE_URL and use --postgres.',
  );
}

/** @throws CommandError with exit code 3 if the file contains no queue: it must not create one */
async function sqliteQueue(file: string, { errors }: Terminal): Promise<MessageQueue> {
  const found = await stat(file);
  if (!found.isFile() || found.size === 0) throw environmentError(`${file} contains no queue`);
  return createSqliteQueue({
    file,
    // The service's limit is unknown here, so no dead letter is evicted.
    maxDeadBytes: Number.MAX_SAFE_INTEGER,
    onDamage: ({ missingSequences }) => {
      const note = `The file is damaged: ${missingSequences} messages are missing.`;
      void errors.write(`${paint(errors, 'yellow', note)}\n`);
    },
  });
}

async function openQueue(options: QueueOptions, terminal: Terminal): Promise<MessageQueue> {
  const { sqlite, postgres, schema, 'transaction-pooling': transactionPooling = false } = options;
  if ((sqlite === undefined) === (postgres === undefined)) {
    throw usageError(
      postgres ? 'give --sqlite or --postgres, not both' : 'no queue given',
      'Use --sqlite FILE, or --postgres with the connection in DATABASE_URL or PGHOST and so on.',
    );
  }
  if (sqlite !== undefined) {
    for (const name of ['schema', 'transaction-pooling'] as const) {
      if (options[name] !== undefined) throw usageError(`--${name} needs --postgres`);
    }
    refuseConnectionStrings([sqlite]);
    return sqliteQueue(sqlite, terminal);
  }
  const { DATABASE_URL, PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = terminal.environment;
  const parts = { host: PGHOST, user: PGUSER, password: PGPASSWORD, database: PGDATABASE };
  const port = PGPORT
    ? integerOf('the environment variable PGPORT', PGPORT, [1, 65_535])
    : undefined;
  return createPostgresQueue({
    connection: DATABASE_URL || { ...parts, port },
    schema,
    transactionPooling,
    maxConnections: 2,
  });
}

/** Enough for a working queue to finish a call. */
const GRACE_MS = 2000;

/** Settles like `work`. Two seconds after the signal aborts, rejects with its reason: `work` may hang. */
export async function withGracePeriod<T>(
  work: Promise<T>,
  { signal, clock }: Pick<Terminal, 'signal' | 'clock'>,
): Promise<T> {
  const settled = new AbortController();
  const end = async (): Promise<never> => {
    if (!signal.aborted) await once(signal, 'abort', { signal: settled.signal });
    await clock.sleep(GRACE_MS, settled.signal);
    throw signal.reason;
  };
  try {
    return await Promise.race([work, end()]);
  } finally {
    settled.abort();
  }
}

export type DeadLetters = Pick<
  WebhookSender,
  'deadLetters' | 'purge' | 'reopen' | 'replay' | 'stats'
>;

/** Opens the queue, and closes it after `work`. Sends nothing: services deliver. */
export async function withDeadLetters<T>(
  options: QueueOptions,
  terminal: Terminal,
  work: (letters: DeadLetters) => Promise<T>,
): Promise<T> {
  const queue = await openQueue(options, terminal);
  const letters = createWebhookSender({ queue, role: 'enqueue', settings: { applications: {} } });
  try {
    const result = await withGracePeriod(work(letters), terminal);
    await withGracePeriod(letters.close({ deadlineMs: 0 }), terminal);
    return result;
  } catch (error) {
    // A queue that could not be opened, or hangs, may not close either.
    await withGracePeriod(letters.close({ deadlineMs: 0 }), terminal).catch(() => undefined);
    throw error;
  }
}

const REASONS = [
  'attempts-exhausted',
  'horizon-passed',
  'too-large',
  'destination-closed',
] as const satisfies readonly DeadReason[];

export const SELECTION_OPTIONS = {
  application: option('ID', 'Only this application.'),
  reason: option('REASON', `Only this reason: ${REASONS.join(', ')}.`),
  since: option('TIME', 'Only those of the last TIME, such as 2h or 3d.'),
  limit: option('N', 'Only the N oldest.'),
} as const;

export interface Selection {
  readonly applicationId?: string;
  readonly ids?: readonly string[];
  readonly reason?: DeadReason;
  /** Milliseconds since the epoch. */
  readonly sinceMs?: number;
  readonly limit?: number;
}

const MAX_LIMIT = 1_000_000_000;

/** @throws CommandError with exit code 2 */
export function selectionOf(
  { application, reason, since, limit }: OptionValues<typeof SELECTION_OPTIONS>,
  ids: readonly string[],
  { clock }: Terminal,
): Selection {
  refuseConnectionStrings(ids);
  if (application === '') throw usageError('--application is empty');
  if (ids.length > 0 && limit !== undefined) throw usageError('give ids or --limit, not both');
  return {
    ...(application === undefined ? {} : { applicationId: application }),
    ...(ids.length === 0 ? {} : { ids: [...new Set(ids)] }),
    ...(reason === undefined ? {} : { reason: oneOf('reason', reason, REASONS) }),
    ...(since === undefined ? {} : { sinceMs: clock.now() - durationOf('since', since) }),
    ...(limit === undefined ? {} : { limit: integerOf('--limit', limit, [1, MAX_LIMIT]) }),
  };
}

/** Keeps few dead letters in memory: each may have 1 MiB. */
const PAGE_SIZE = 200;

/** Yields the selected letters page by page, oldest first. Reads at most `maxRead` letters of the queue. */
export async function* pagesOf(
  letters: Pick<DeadLetters, 'deadLetters'>,
  { applicationId, ids, reason, sinceMs = 0, limit: wanted = Number.POSITIVE_INFINITY }: Selection,
  maxRead = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly DeadMessage[]> {
  const filter = { ...(applicationId && { applicationId }), ...(ids && { ids }) };
  let [seen, found] = [0, 0];
  let after: string | undefined;
  do {
    const limit = Math.min(PAGE_SIZE, maxRead - seen);
    if (limit <= 0) return;
    const { items, next } = await letters.deadLetters({
      ...filter,
      limit,
      ...(after && { after }),
    });
    const page = items
      .filter((it) => (reason === undefined || it.reason === reason) && it.diedAt >= sinceMs)
      .slice(0, wanted - found);
    seen += items.length;
    found += page.length;
    yield page;
    after = next;
  } while (after !== undefined && found < wanted);
}

/** Prints the ids without a dead letter, and returns the exit code. */
export async function reportUnknown(
  unknown: ReadonlySet<string>,
  { errors }: Terminal,
): Promise<0 | 1> {
  for (const id of unknown) {
    await errors.write(`There is no dead letter ${printable(id.slice(0, 40))}.\n`);
  }
  return unknown.size === 0 ? 0 : 1;
}
