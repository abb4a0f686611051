/** Creates the schema, and checks it and the server's settings on each new connection. */
import type { ClientBase, QueryConfig } from 'pg';
import { SecurityEventError } from '../../errors.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { Durability } from '../queue.ts';
import type { ReadOptions } from './options.ts';
import { SCHEMA_SQL } from './schema-sql.generated.ts';

/** Must be raised with each change of published SQL. A queue works only with its own version. */
const SCHEMA_VERSION = 1;

/**
 * Keeps each plan, since planning takes longer than running. Plans must use the indexes, even if the tables were
 * empty at the time. JIT is off: the plans have a high estimated cost but run for microseconds.
 */
const PLANS = `{path} set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off`;

/** Finds only the server's own functions and operators, not those of the caller's search path. */
const PATH = 'set search_path = pg_catalog, pg_temp';

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Returns the SQL for the contents of a new schema. */
function schemaText(schema: string): string {
  const version = `create table {s}.schema_version (version integer primary key);

insert into {s}.schema_version values (${SCHEMA_VERSION});`;
  const text = `${SCHEMA_SQL}\n\n${version}\n`
    .replaceAll('{plans}', PLANS)
    .replaceAll('{path}', PATH);
  return text.replaceAll('{s}', () => quoted(schema));
}

/** Returns the SQL file for those who do not run {@link createSchema}. */
export const schemaFile = (schema: string): string => `\
-- What security-event-delivery/queue/postgres needs in a database, version ${SCHEMA_VERSION}. Run it once, for instance with
-- psql -v ON_ERROR_STOP=1 -f <this file>. Written by \`npm run docs\`; createPostgresSchema does the same.
begin;

create schema ${quoted(schema)};

${schemaText(schema)}
commit;
`;

/** Creates the schema in one transaction, one process at a time. Rejects if it has another version. */
export async function createSchema(
  client: ClientBase,
  { schema, callTimeoutMs }: Pick<ReadOptions, 'schema' | 'callTimeoutMs'>,
): Promise<'created' | 'present'> {
  const run = (text: string, values: unknown[] = []) =>
    firstRow(client, { text, values, query_timeout: callTimeoutMs });
  // Not with the server's defaults: a schema that another process has just created must be visible.
  await run('begin isolation level read committed read write');
  await run('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${schema} schema`]);
  const found = await run(
    'select to_regclass($1) is not null as version, to_regnamespace($2) is null as missing',
    [`${quoted(schema)}.schema_version`, quoted(schema)],
  );
  if (found['version'] === true) {
    const { version } = await run(`select version from ${quoted(schema)}.schema_version`);
    checkVersion(version, schema);
  } else {
    // Not `if not exists`, which needs the right to create schemas even if the schema exists.
    if (found['missing'] === true) await run(`create schema ${quoted(schema)}`);
    await run(schemaText(schema));
  }
  await run('commit');
  return found['version'] === true ? 'present' : 'created';
}

/** The client reads `query_timeout`, but its types lack it. */
type TimedQuery = QueryConfig & { readonly query_timeout: number };

async function firstRow(client: ClientBase, query: TimedQuery): Promise<Record<string, unknown>> {
  const { rows } = await untraced(() => client.query<Record<string, unknown>>(query));
  // Several statements have several results.
  return rows?.[0] ?? {};
}

function checkVersion(version: unknown, schema: string): void {
  if (version === SCHEMA_VERSION) return;
  const versions = `is of version ${String(version)}, not ${SCHEMA_VERSION}`;
  const detail = `the schema ${schema} ${versions}: use the package of that version`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}

/** The settings of the server that decide what a commit survives. */
export interface Settings {
  readonly fsync: string;
  readonly commit: string;
  readonly standbys: string;
}

const SETTINGS = `select (select version from {s}.schema_version) as version,
  current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as commit,
  current_setting('synchronous_standby_names') as standbys,
  current_setting('transaction_read_only') as read_only,
  current_setting('server_encoding') as encoding,
  current_setting('transaction_isolation') as isolation`;

/** Rejects if the schema has another version, or the server's settings break the laws of the queue. */
export async function readSettings(
  client: ClientBase,
  { schema, callTimeoutMs }: ReadOptions,
): Promise<Settings> {
  const text = SETTINGS.replace('{s}', () => quoted(schema));
  const row = await firstRow(client, { text, query_timeout: callTimeoutMs });
  const setting = (name: string): string => String(row[name]);
  // First: a server that cannot be used, such as a standby, is reported as that.
  const problem = problemOf(setting);
  if (problem !== undefined) throw unfit(problem);
  checkVersion(row['version'], schema);
  return { fsync: setting('fsync'), commit: setting('commit'), standbys: setting('standbys') };
}

/** Rejects if the server is a standby. */
export async function checkWritable(client: ClientBase): Promise<void> {
  const { rows } = await untraced(() => client.query(`select pg_is_in_recovery() as found`));
  if (rows[0]?.found === true) throw unfit(READ_ONLY);
}

/** Other encodings cannot store all ids. */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII']);

const READ_ONLY = 'the server takes no writes: it is a standby, or set to read only';

const unfit = (detail: string): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { detail });

function problemOf(setting: (name: string) => string): string | undefined {
  if (setting('read_only') === 'on') return READ_ONLY;
  if (!ENCODINGS.has(setting('encoding'))) {
    return `the encoding of the database is ${setting('encoding')}, expected UTF8`;
  }
  if (setting('isolation') === 'read committed') return undefined;
  return `default_transaction_isolation is ${setting('isolation')}, expected read committed`;
}

/** Values of synchronous_commit with which a commit waits for a standby. */
const WAITS_FOR_STANDBY = new Set(['on', 'remote_write', 'remote_apply']);

/** Returns what a commit survives with these settings; if in doubt, the least. */
export function durabilityOf({ fsync, commit, standbys }: Settings): Durability {
  const isOnDisk = commit === 'local' || WAITS_FOR_STANDBY.has(commit);
  if (fsync !== 'on' || !isOnDisk) return 'process-crash';
  return standbys.trim() !== '' && WAITS_FOR_STANDBY.has(commit) ? 'replicated' : 'server';
}
