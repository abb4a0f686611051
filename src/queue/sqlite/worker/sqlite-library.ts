/** Loads Node's SQLite if it is recent enough, otherwise the optional peer. */
import { createRequire } from 'node:module';
import process from 'node:process';
import { Rejection } from './failure.ts';

export type SqlValue = number | string | Uint8Array | null;
export type Row = Readonly<Record<string, SqlValue>>;

/** The part of the API of `node:sqlite` that the queue uses. The peer has the same API. */
export interface Statement {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint };
  get(...values: readonly SqlValue[]): Row | undefined;
  all(...values: readonly SqlValue[]): unknown[];
  setReturnArrays(isEnabled: boolean): void;
  setReadBigInts(isEnabled: boolean): void;
}

export interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

interface ConnectionOptions {
  readonly readOnly?: boolean;
  readonly timeout?: number;
  readonly enableForeignKeyConstraints?: boolean;
}

export interface SqliteLibrary {
  readonly DatabaseSync: new (path: string, options: ConnectionOptions) => Connection;
}

/** Older versions can corrupt a WAL that several connections write. */
const MINIMUM = [3, 51, 3] as const;
const PEER = '@photostructure/sqlite';

/** @throws Rejection `ERR_PEER_MISSING` */
export function loadSqlite(peerPath: string | null): SqliteLibrary {
  const builtin = withoutExperimentalWarning(() => process.getBuiltinModule('node:sqlite')) as
    | SqliteLibrary
    | undefined;
  if (builtin !== undefined && isRecent(builtin)) return builtin;
  const install = `${PEER} (\`npm install ${PEER}@1\`): Node ${process.versions.node} has no SQLite ${MINIMUM.join('.')}`;
  if (peerPath === null) throw new Rejection('ERR_PEER_MISSING', install);
  try {
    const peer = createRequire(peerPath)(peerPath) as SqliteLibrary;
    if (isRecent(peer)) return peer;
  } catch (cause) {
    throw new Rejection('ERR_PEER_MISSING', install, { cause });
  }
  throw new Rejection('ERR_PEER_MISSING', `${install}, and the installed peer has an older one`);
}

/** Asks SQLite itself: if Node is linked to the system's, `process.versions` can name another version. */
function isRecent({ DatabaseSync }: SqliteLibrary): boolean {
  const connection = new DatabaseSync(':memory:', {});
  try {
    const version = String(
      connection.prepare('select sqlite_version() as version').get()?.['version'],
    );
    const parts = version.split('.').map(Number);
    const index = MINIMUM.findIndex((least, place) => parts[place] !== least);
    return index === -1 || (parts[index] ?? 0) > (MINIMUM[index] ?? 0);
  } finally {
    connection.close();
  }
}

/** Loads `node:sqlite` without its ExperimentalWarning. Passes other warnings on. */
function withoutExperimentalWarning<T>(load: () => T): T {
  const emitWarning: unknown = Reflect.get(process, 'emitWarning');
  const others = (...given: unknown[]): void => {
    if (!given.includes('ExperimentalWarning'))
      Reflect.apply(emitWarning as () => void, process, given);
  };
  Object.assign(process, { emitWarning: others });
  try {
    return load();
  } finally {
    Object.assign(process, { emitWarning });
  }
}
