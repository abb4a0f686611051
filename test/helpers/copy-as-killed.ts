/** A folder of LevelDB as `kill -9` leaves it: a copy of one moment, though a thread of LevelDB's goes on. */
import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MOST_TRIES = 1000;

/** What differs once LevelDB has written or removed anything: each file's name and length. */
function lookOf(folder: string): string {
  const files = readdirSync(folder).toSorted();
  return files.map((name) => `${name} ${statSync(join(folder, name)).size}`).join('\n');
}

/**
 * Copies `from`, whose store is open, to `to`. Compactions run in a thread of LevelDB's own: a table listed
 * may be gone when it is read, and a manifest copied before it was written may name what is not there. What
 * changed meanwhile is copied anew.
 */
export function copyAsKilled(from: string, to: string): void {
  let cause: unknown;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    try {
      const before = lookOf(from);
      cpSync(from, to, { recursive: true });
      if (lookOf(from) === before) return;
    } catch (error) {
      // A table that a compaction removed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      cause = error;
    }
    rmSync(to, { recursive: true, force: true });
  }
  throw new Error(`${from} changed each of the ${MOST_TRIES} times it was copied.`, { cause });
}
