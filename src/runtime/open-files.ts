import { readFileSync } from 'node:fs';

/**
 * Returns how many files and sockets this process may open (`ulimit -n`, which Node raises to the hard
 * limit). Infinity if unknown, outside Linux.
 */
export function maxOpenFiles(readLimits = readOwnLimits): number {
  try {
    const row = /^Max open files\s+(\d+)/m.exec(readLimits());
    return row === null ? Number.POSITIVE_INFINITY : Number(row[1]);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

const readOwnLimits = (): string => readFileSync('/proc/self/limits', 'utf8');
