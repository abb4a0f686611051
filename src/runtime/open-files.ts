import { readFileSync } from 'node:fs';

/**
 * How many files and sockets this process may have open: `ulimit -n`, which Node has raised as far as it may. Infinity
 * where nobody tells: outside Linux.
 */
export function maxOpenFiles(readLimits = ofThisProcess): number {
  try {
    const row = /^Max open files\s+(\d+)/m.exec(readLimits());
    return row === null ? Number.POSITIVE_INFINITY : Number(row[1]);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

const ofThisProcess = (): string => readFileSync('/proc/self/limits', 'utf8');
