/** The schema: made once, and looked at before it is used. */
import type { ClientBase } from 'pg';
import { SecurityEventError } from '../../errors.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { Durability } from '../queue.ts';
import { connected, Database, type Row } from './database.ts';
import type { LoadPg } from './load-pg.ts';
import { failure } from './postgres-failure.ts';
import type { ReadOptions } from './postgres-options.ts';
import { quoted, SCHEMA_VERSION, schemaText } from './sql/schema-text.ts';

type SchemaChange = 'created' | 'migrated' | 'present';

/** What a schema of a version needs to be of the next one; `{s}` stands for its quoted name. */
export type Migrations = Readonly<Record<number, string>>;

/** By the version that each begins with: none was published before {@link SCHEMA_VERSION}. */
const MIGRATIONS: Migrations = {};

/** Makes or migrates the schema in one transaction, one process after the other; what is there stays. */
export async function createSchema(
  client: ClientBase,
  { schema, callTimeoutMs }: Pick<ReadOptions, 'schema' | 'callTimeoutMs'>,
  migrations: Migrations = MIGRATIONS,
): Promise<SchemaChange> {
  const run = (text: string, values: unknown[] = []) => {
    const config = { text, values, query_timeout: callTimeoutMs };
    return untraced(() => client.query<Record<string, unknown>>(config));
  };
  try {
    // Whatever the defaults are: what another process has made meanwhile has to be seen.
    await run('begin isolation level read committed read write');
    await run('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${schema} schema`]);
    const found = await run('select to_regclass($1) is not null as found', [
      `${quoted(schema)}.schema_version`,
    ]);
    let change: SchemaChange = 'created';
    if (found.rows[0]?.['found'] === true) {
      const { rows } = await run(`select version from ${quoted(schema)}.schema_version`);
      const version = rows[0]?.['version'];
      const steps = stepsFrom(version, migrations);
      if (steps === undefined) checkVersion(version, schema);
      for (const step of steps ?? []) await run(step.replaceAll('{s}', () => quoted(schema)));
      change = steps === undefined ? 'present' : 'migrated';
    } else {
      // Where there is one no right to create schemas is needed.
      const { rows } = await run('select to_regnamespace($1) is null as missing', [quoted(schema)]);
      if (rows[0]?.['missing'] === true) await run(`create schema ${quoted(schema)}`);
      await run(schemaText(schema));
    }
    await run('commit');
    return change;
  } catch (error) {
    throw failure(error);
  }
}

/** In their order, with the version last; `undefined` where they do not lead from this version to ours. */
function stepsFrom(version: unknown, migrations: Migrations): string[] | undefined {
  if (typeof version !== 'number' || !(version < SCHEMA_VERSION)) return undefined;
  const steps: string[] = [];
  for (let from = version; from < SCHEMA_VERSION; from += 1) {
    const step = migrations[from];
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return [...steps, `update {s}.schema_version set version = ${SCHEMA_VERSION}`];
}

/** What {@link createSchema} runs where there is nothing yet, for who has no program do it. */
export const schemaFile = (schema: string): string => `\
-- What security-event-delivery/queue/postgres needs in a database, version ${SCHEMA_VERSION}: run it once, for instance by
-- psql -v ON_ERROR_STOP=1 -f <this file>. Written by \`npm run docs\`; createPostgresSchema does the same.
begin;

create schema ${quoted(schema)};

${schemaText(schema)}
commit;
`;

function checkVersion(version: unknown, schema: string): void {
  if (version === SCHEMA_VERSION) return;
  const versions = `is of version ${String(version)}, not ${SCHEMA_VERSION}`;
  const isOlder = typeof version === 'number' && version < SCHEMA_VERSION;
  const advice = isOlder ? 'run createPostgresSchema' : 'take the package that it belongs to';
  const detail = `the schema ${schema} ${versions}: ${advice}`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}

export interface OpenedDatabase {
  readonly database: Database;
  readonly durability: Durability;
}

/** Connects to a database whose schema and settings fit. */
export async function opened(options: ReadOptions, load: LoadPg): Promise<OpenedDatabase> {
  const database = new Database(await connected(options, load), options);
  try {
    return { database, durability: await lookedAt(database, options.schema) };
  } catch (error) {
    await database.end();
    throw error;
  }
}

const SETTINGS = `select (select version from {s}.schema_version) as version,
  current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as commit,
  current_setting('synchronous_standby_names') as standbys,
  current_setting('transaction_read_only') as read_only,
  current_setting('server_encoding') as encoding,
  current_setting('transaction_isolation') as isolation`;

/** Refuses a schema of another version and a server that would not keep the laws; tells what it keeps. */
async function lookedAt(database: Database, schema: string): Promise<Durability> {
  const [row] = await database.query(SETTINGS.replace('{s}', () => quoted(schema)));
  checkVersion(row?.['version'], schema);
  const unfit = unfitness(row ?? {});
  if (unfit !== undefined) throw new SecurityEventError('ERR_QUEUE_FAILED', { detail: unfit });
  return durabilityOf({
    fsync: String(row?.['fsync']),
    commit: String(row?.['commit']),
    standbys: String(row?.['standbys']),
  });
}

/** In others there is no place for what ids may hold. */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII']);

function unfitness({ isolation, read_only: readOnly, encoding }: Row): string | undefined {
  if (readOnly === 'on') return 'the server takes no writes: it is a standby, or set to read only';
  if (!ENCODINGS.has(String(encoding))) {
    return `the encoding of the database is ${String(encoding)}, expected UTF8`;
  }
  if (isolation === 'read committed') return undefined;
  return `default_transaction_isolation is ${String(isolation)}, expected read committed`;
}

/** Values of synchronous_commit with which a standby has what is committed. */
const WAITS_FOR_STANDBY = new Set(['on', 'remote_write', 'remote_apply']);

/** Of the server's settings; in doubt the least. */
export function durabilityOf({
  fsync,
  commit,
  standbys,
}: Readonly<Record<'fsync' | 'commit' | 'standbys', string>>): Durability {
  const isOnDisk = commit === 'local' || WAITS_FOR_STANDBY.has(commit);
  if (fsync !== 'on' || !isOnDisk) return 'process-crash';
  return standbys.trim() !== '' && WAITS_FOR_STANDBY.has(commit) ? 'replicated' : 'server';
}
