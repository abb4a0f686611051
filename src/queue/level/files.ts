/** The files of the store, looked at without it. */
import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The file that names the one in which all others are named. */
const NAMES = 'CURRENT';
/** What the store makes in its folder, but for its lock. */
export const STORE_FILE = /^(?:CURRENT|LOG(?:\.old)?|MANIFEST-\d+|\d+\.(?:ldb|sst|log|dbtmp))$/;

export const HOLDS_ROWS = /\.(?:ldb|sst|log)$/;
const TABLE_IN_TEXT = /\d+\.(?:ldb|sst)/;

/** Nothing was ever in it. */
export async function isNew(folder: string): Promise<boolean> {
  const names = await readdir(folder);
  return !names.some((name) => name === NAMES || HOLDS_ROWS.test(name));
}

/** Whether there are files, and none from which the store could know them. */
export async function lacksNames(folder: string): Promise<boolean> {
  if (await isNew(folder)) return false;
  const current = await readFile(join(folder, NAMES), 'latin1').catch(ifMissing(''));
  const [, named] = /^(MANIFEST-\d+)\n$/.exec(current) ?? [];
  return named === undefined || !(await isThere(join(folder, named)));
}

export async function isThere(path: string): Promise<boolean> {
  const isFound = stat(path).then(() => true);
  return await isFound.catch(ifMissing(false));
}

function ifMissing<T>(value: T): (error: { readonly code?: unknown }) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}

/** With which each table ends. */
const MAGIC = Buffer.from('57fb808b247547db', 'hex');

/** Whether an error of the store is about a table that is cut, as far as it names one. */
export async function isOfCutTable(folder: string, message: string): Promise<boolean> {
  const [name] = TABLE_IN_TEXT.exec(message) ?? [];
  if (name === undefined) return false;
  const path = join(folder, basename(name));
  const { size } = await stat(path);
  const end = await read(path, Math.max(0, size - MAGIC.length), MAGIC.length);
  return !end.equals(MAGIC);
}

/** As the store writes it into its own log, which begins anew each time that it is opened. */
const DROPPED = /dropping \d+ bytes|ignoring error/;

/** Enough for the lines of an opening. */
const LOG_BYTES = 65_536;

/** Whether the store has found writes that it cannot read: it goes on behind them and tells nobody. */
export async function hasDroppedWrites(folder: string): Promise<boolean> {
  // Nobody else needs that file: without it there is nothing to know.
  const log = await read(join(folder, 'LOG'), 0, LOG_BYTES).catch(() => Buffer.alloc(0));
  return DROPPED.test(log.toString('latin1'));
}

async function read(path: string, position: number, length: number): Promise<Buffer> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), { position });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file?.close();
  }
}
