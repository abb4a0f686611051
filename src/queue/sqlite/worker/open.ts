/** Creates the file, or checks that it is ours before anything in it is changed. */
import { accessSync, chmodSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Database, type Gate } from './database.ts';
import { isNoDatabase, Rejection } from './failure.ts';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.ts';
import type { Connection, SqliteLibrary } from './sqlite-library.ts';

const MIB = 1024 * 1024;

const PRAGMAS = `
pragma journal_size_limit = ${16 * MIB};
pragma temp_store = memory;
pragma cache_size = -16000;
pragma wal_autocheckpoint = 0;
pragma cell_size_check = on;
pragma trusted_schema = off;
`;

/** `f_type` of network file systems on Linux: a WAL needs memory that processes share. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
]);

export interface OpenParts {
  readonly sqlite: SqliteLibrary;
  readonly gate: Gate;
  readonly file: string;
}

/**
 * @throws Rejection `ERR_QUEUE_FOREIGN` when the file belongs to another program, `ERR_QUEUE_FAILED`
 * when a newer version of the package made it or its file system cannot have a WAL
 */
export function openDatabase({ sqlite, gate, file }: OpenParts): Database {
  refuseNetwork(file);
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  refuseReadOnly(size === undefined ? dirname(file) : file);
  // A process that ended while it created the file leaves an empty one.
  const isNew = (size ?? 0) === 0;
  if (!isNew) probe({ sqlite, gate, file });
  const connection = gate.run(() => connect(sqlite, file, false));
  const database = new Database(connection, gate);
  try {
    if (isNew) restrict(database, file);
    // Lets `tidy` give free pages back to the disk. Works only in a file without tables.
    database.retryWhileBusy(() => database.exec('pragma auto_vacuum = incremental'));
    database.retryWhileBusy(() => useWal(database));
    gate.run(() => database.exec(PRAGMAS));
    database.transaction(() => createSchema(database));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

const connect = (sqlite: SqliteLibrary, file: string, readOnly: boolean): Connection =>
  new sqlite.DatabaseSync(file, { readOnly, timeout: 0, enableForeignKeyConstraints: false });

/** @throws Rejection `ERR_QUEUE_FAILED` */
export function refuseNetwork(
  file: string,
  statfs: (folder: string) => { readonly type: number } = statfsSync,
): void {
  const name = NETWORK_FILE_SYSTEMS.get(statfs(dirname(file)).type);
  if (name === undefined) return;
  const detail = `the file is on a network file system (${name}): use a local disk`;
  throw new Rejection('ERR_QUEUE_FAILED', detail);
}

/** SQLite's error only says that it cannot open the files beside this one. */
function refuseReadOnly(path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (cause) {
    throw new Rejection('ERR_QUEUE_FAILED', 'the file or its disk is read-only', { cause });
  }
}

/** Checks the file through a connection that cannot write. */
function probe({ sqlite, gate, file }: OpenParts): void {
  const database = new Database(
    gate.run(() => connect(sqlite, file, true)),
    gate,
  );
  try {
    database.retryWhileBusy(() => refuseForeign(database));
  } catch (error) {
    if (!isNoDatabase(error)) throw error;
    const detail = `${file} is no SQLite database; if it was a queue, its beginning is damaged`;
    throw new Rejection('ERR_QUEUE_FOREIGN', detail, { cause: error });
  } finally {
    database.close();
  }
}

function refuseForeign(database: Database): void {
  const application = database.number('pragma application_id');
  const version = database.number('pragma user_version');
  if (application === APPLICATION_ID) {
    if (version <= SCHEMA_VERSION) return;
    const detail = `a newer version of this package made the file (schema ${version})`;
    throw new Rejection('ERR_QUEUE_FAILED', detail);
  }
  // It is still empty if another process is creating it.
  const objects = database.number('select count(*) from sqlite_schema');
  if (application === 0 && version === 0 && objects === 0) return;
  throw new Rejection('ERR_QUEUE_FOREIGN', 'the file is a database of another program');
}

/** Lets only the owner read the file. SQLite gives the files beside it the same mode. */
function restrict(database: Database, file: string): void {
  database.retryWhileBusy(() => database.number('pragma schema_version'));
  if (existsSync(file)) chmodSync(file, 0o600);
}

function useWal(database: Database): void {
  const mode = database.get('pragma journal_mode = wal')?.['journal_mode'];
  if (mode === 'wal') return;
  const detail = 'the file system does not support the write-ahead log of SQLite: use a local disk';
  throw new Rejection('ERR_QUEUE_FAILED', detail);
}

function createSchema(database: Database): void {
  if (database.number('pragma user_version') === SCHEMA_VERSION) return;
  database.exec(SCHEMA);
  database.exec(
    `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`,
  );
}
