import { cpSync, existsSync } from 'node:fs';

/** Copies what kill -9 leaves of a file: what was written, and no memory of the process. */
export function copyAsKilled(from: string, to: string): void {
  for (const name of ['', '-wal', '-reserve']) {
    if (existsSync(from + name)) cpSync(from + name, to + name);
  }
}
