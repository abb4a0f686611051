/**
 * Whether a folder is a queue's. LevelDB is the store of many programs: what one of theirs holds would be
 * taken for damage, and set aside. A file of ours in the folder says so, which is there before the store is;
 * where it is missing, since an earlier version made the folder or not all of it was copied, a row does that
 * only a queue writes. It is looked for without the store, which writes into what it opens.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SecurityEventError } from '../../errors.ts';
import { HOLDS_ROWS, isNew, isThere } from './files.ts';
import { metaKey, tableOf } from './keys.ts';
import { unsealed } from './seal.ts';
import { readerOf, type Version } from './table-file.ts';

const MARK = 'SECURITY-EVENT-DELIVERY';
const MARK_TEXT = 'This folder is a queue of security-event-delivery. Leave this file in it.\n';

/** In a queue's folder any file tells; of a large one of another program not all need be read. */
const MOST_FILES = 20;

/**
 * Throws ERR_QUEUE_FOREIGN where the folder holds another program's store, of which nothing was changed.
 * `isMending`: a queue has begun to make up for damage in it.
 */
export async function takeFolder(folder: string, isMending: boolean): Promise<void> {
  const mark = join(folder, MARK);
  if (await isThere(mark)) return;
  const isOurs = isMending || (await isNew(folder)) || (await holdsOwnRows(folder));
  if (!isOurs) throw new SecurityEventError('ERR_QUEUE_FOREIGN', { detail: folder });
  await writeFile(mark, MARK_TEXT, { mode: 0o600 });
}

async function holdsOwnRows(folder: string): Promise<boolean> {
  const names = (await readdir(folder)).filter((name) => HOLDS_ROWS.test(name)).toSorted();
  let bytes = 0;
  // The newest first: they are small, and in a folder of ours no row is older than its first.
  for (const name of names.toReversed().slice(0, MOST_FILES)) {
    const file = await readFile(join(folder, name));
    if (hasOwnRow(name, file)) return true;
    bytes += file.length;
  }
  // A store without anything, as a process leaves it that is killed when it has just made it.
  return bytes === 0;
}

function hasOwnRow(name: string, file: Buffer): boolean {
  try {
    for (const version of readerOf(name)?.(file) ?? []) if (isOwn(version)) return true;
  } catch (error) {
    // What is behind cannot be told apart any more.
    if (!(error instanceof RangeError)) throw error;
  }
  return false;
}

function isOwn({ key, value }: Version): boolean {
  if (value === undefined || tableOf(key) === undefined) return false;
  return unsealed(key, value) !== undefined || (key.equals(metaKey()) && hasForm(value));
}

/** Rows of the first form had no checksum; such a folder is refused for what it is. */
function hasForm(value: Buffer): boolean {
  try {
    const meta = JSON.parse(value.toString()) as { readonly form?: unknown } | null;
    return typeof meta?.form === 'number';
  } catch {
    return false;
  }
}
