/** The durable queue whose dead letters are meant: an SQLite file, or a PostgreSQL database. */
import { readFile, stat } from 'node:fs/promises';
import { createWebhookSender, type MessageQueue, SecurityEventError } from '../../index.ts';
import { createPostgresQueue, type PostgresQueueOptions } from '../../queue/postgres.ts';
import { createSqliteQueue } from '../../queue/sqlite.ts';
import type { OptionTable, OptionValues } from '../command.ts';
import { misuse, outage } from '../failure.ts';
import { paint, type Terminal } from '../terminal.ts';
import { type DeadLetters, lettersUntilEnded, untilEnded } from './until-ended.ts';

const DEFAULT_VARIABLE = 'DATABASE_URL';

export const QUEUE_OPTIONS = {
  sqlite: {
    type: 'string',
    value: 'FILE',
    what: 'the queue in this SQLite file, also while services use it',
  },
  postgres: {
    type: 'boolean',
    what: `the queue in PostgreSQL: ${DEFAULT_VARIABLE}, or PGHOST, PGUSER, PGPASSWORD and so on`,
  },
  'postgres-env': {
    type: 'string',
    value: 'NAME',
    what: 'likewise, by a connection string in this environment variable',
  },
  'postgres-file': {
    type: 'string',
    value: 'PATH',
    what: 'likewise, by a connection string in this file',
  },
  schema: {
    type: 'string',
    value: 'NAME',
    what: 'schema of the queue in PostgreSQL (security_events)',
  },
  'transaction-pooling': {
    type: 'boolean',
    what: 'a proxy that pools transactions, such as PgBouncer, is before PostgreSQL',
  },
} as const satisfies OptionTable;

export type QueueChoice = OptionValues<typeof QUEUE_OPTIONS>;

const NO_ARGUMENT =
  'Other users of the machine see it in the list of processes, and shells keep it in their history: ' +
  `set ${DEFAULT_VARIABLE}, or use --postgres-env NAME or --postgres-file PATH.`;

/** Of what is given as a word by mistake; it is not quoted. */
const CONNECTION_STRING = /^(?:postgres(?:ql)?|socket):/i;

/** @throws CommandFailure with exit code 2 */
export function refuseConnectionStrings(words: readonly string[]): void {
  if (words.some((word) => CONNECTION_STRING.test(word))) {
    throw misuse('a connection string may not be an argument', NO_ARGUMENT);
  }
}

/** @throws CommandFailure with exit code 3 where the file holds no queue: none may be made of it */
async function sqliteQueue(file: string, terminal: Terminal): Promise<MessageQueue> {
  const found = await stat(file);
  if (!found.isFile() || found.size === 0) {
    throw outage(`${file} holds no queue`, 'Give the file that `createSqliteQueue` was given.');
  }
  return createSqliteQueue({
    file,
    // Nothing is evicted here, whatever the bound of the service is.
    maxDeadBytes: Number.MAX_SAFE_INTEGER,
    onDamage: ({ missingSequences }) => {
      const note = `The file was damaged. Number of messages that are missing: ${missingSequences}.`;
      void terminal.errors.write(`${paint(terminal.errors, 'yellow', note)}\n`);
    },
  });
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw misuse('the environment variable PGPORT is no port: expected 1 to 65535');
}

async function connectionOf(
  choice: QueueChoice,
  { environment }: Terminal,
): Promise<NonNullable<PostgresQueueOptions['connection']>> {
  const { 'postgres-env': name, 'postgres-file': file } = choice;
  if (file !== undefined) {
    const text = (await readFile(file, 'utf8')).trim();
    if (text === '') throw misuse(`${file} is empty: it should hold a connection string`);
    return text;
  }
  const text = environment[name ?? DEFAULT_VARIABLE];
  if (text !== undefined && text !== '') return text;
  if (name !== undefined) {
    throw misuse(`the environment variable ${name} is not set or empty`);
  }
  const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = environment;
  return {
    host: PGHOST,
    port: portOf(PGPORT),
    user: PGUSER,
    password: PGPASSWORD,
    database: PGDATABASE,
  };
}

async function postgresQueue(choice: QueueChoice, terminal: Terminal): Promise<MessageQueue> {
  const { schema, 'transaction-pooling': transactionPooling = false } = choice;
  return createPostgresQueue({
    connection: await connectionOf(choice, terminal),
    ...(schema === undefined ? {} : { schema }),
    transactionPooling,
    maxConnections: 2,
  });
}

/** @throws CommandFailure with exit code 2 where not exactly one queue is named */
async function openQueue(choice: QueueChoice, terminal: Terminal): Promise<MessageQueue> {
  const { sqlite, postgres, 'postgres-env': name, 'postgres-file': file } = choice;
  refuseConnectionStrings([sqlite, name, file].filter((given) => given !== undefined));
  const databases = [name, file].filter((given) => given !== undefined).length;
  const isDatabase = databases > 0 || postgres === true;
  if (databases > 1) throw misuse('expected one of --postgres-env and --postgres-file');
  if (isDatabase === (sqlite !== undefined)) {
    throw misuse(
      isDatabase ? 'expected --sqlite or --postgres, and not both' : 'no queue is named',
      'Give --sqlite FILE, or --postgres with the connection in DATABASE_URL or PGHOST and so on.',
    );
  }
  return sqlite === undefined ? postgresQueue(choice, terminal) : sqliteQueue(sqlite, terminal);
}

/** What the queue rejects with, with the way out for who is at a terminal. */
export function toldQueueError(error: unknown): unknown {
  if (!(error instanceof SecurityEventError)) return error;
  const [, peer] = /\(`(npm install [^`]+)`\)/.exec(error.message) ?? [];
  if (error.code === 'ERR_PEER_MISSING' && peer !== undefined) {
    return outage(
      'an optional package is not installed',
      `Run \`${peer}\` where security-event-delivery is installed.`,
    );
  }
  return error;
}

/** Opens the queue, and closes it after `work`. Nothing is sent: delivering is for its services. */
export async function withDeadLetters<T>(
  choice: QueueChoice,
  terminal: Terminal,
  work: (letters: DeadLetters) => Promise<T>,
): Promise<T> {
  const queue = await openQueue(choice, terminal);
  const sender = createWebhookSender({ queue, role: 'enqueue', settings: { applications: {} } });
  try {
    const result = await work(lettersUntilEnded(sender, terminal));
    await untilEnded(sender.close({ deadlineMs: 0 }), terminal);
    return result;
  } catch (error) {
    // What could not be opened cannot be closed either, and what hangs may not let itself be closed.
    await untilEnded(sender.close({ deadlineMs: 0 }), terminal).catch(() => undefined);
    throw toldQueueError(error);
  }
}
