/** The package's class, as far as it is used, and its errors. */
import type { ClassicLevel } from 'classic-level';

export type Level = ClassicLevel<Buffer, Buffer>;

export type LevelClass = new (
  location: string,
  options: {
    readonly keyEncoding: 'buffer';
    readonly valueEncoding: 'buffer';
    readonly createIfMissing: boolean;
  },
) => Level;

export async function create(Class: LevelClass, folder: string): Promise<Level> {
  const level = new Class(folder, { ...ENCODINGS, createIfMissing: true });
  await level.open();
  return level;
}

export const ENCODINGS = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;

interface LevelError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: LevelError;
}

export const chainOf = (error: unknown): LevelError[] => {
  const { cause } = error as LevelError;
  return cause === undefined ? [error as LevelError] : [error as LevelError, cause];
};

export const has = (error: unknown, wanted: string): boolean =>
  chainOf(error).some(({ code }) => code === wanted);

export const isLocked = (error: unknown): boolean => has(error, 'LEVEL_LOCKED');
