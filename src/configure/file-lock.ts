/** A lock file beside the settings: one writer at a time, across processes and machines. */
import { randomBytes } from 'node:crypto';
import type * as fs from 'node:fs/promises';
import { SecurityEventError } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';

export type Files = Pick<
  typeof fs,
  'link' | 'open' | 'readFile' | 'readlink' | 'realpath' | 'rename' | 'stat' | 'unlink'
>;

export interface LockSystem {
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Lock {
  /** The holder writes this file, then renames it. Whoever removes a stale lock removes this file too. */
  readonly temporaryPath: string;
  /** Returns false if another process removed the lock as stale, for example while this machine slept. */
  isHeld(): Promise<boolean>;
  /** Never rejects: a lock that stays becomes stale. */
  release(): Promise<void>;
}

/** Writing takes milliseconds. A lock this old belongs to a dead or hanging process. */
const STALE_MS = 20_000;
/** Maximum time to wait for the lock. */
const GIVE_UP_MS = 60_000;
/** Maximum time between two tries. */
const MAX_WAIT_MS = 30;

/**
 * Waits for the lock of `path`.
 *
 * @throws SecurityEventError `ERR_CONFIGURATION_FAILED` if others hold it for a minute.
 */
export async function lockFile(path: string, system: LockSystem): Promise<Lock> {
  const { clock, files, random } = system;
  const lockPath = `${path}.lock`;
  const token = randomBytes(16).toString('hex');
  const giveUpAtMs = clock.monotonicMs() + GIVE_UP_MS;
  // By this process's clock: the clock of a file server may differ.
  let seen: { readonly token: string; readonly atMs: number } | undefined;
  while (!(await create(lockPath, token, files))) {
    const nowMs = clock.monotonicMs();
    const holder = await read(lockPath, files);
    if (holder === undefined) seen = undefined;
    else if (holder !== seen?.token) seen = { token: holder, atMs: nowMs };
    else if (nowMs - seen.atMs >= STALE_MS) await removeStale(path, { token, holder }, files);
    if (nowMs >= giveUpAtMs) {
      const detail = 'other processes have held its lock for a minute';
      throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { detail });
    }
    await clock.sleep(1 + random() * MAX_WAIT_MS);
  }
  const isHeld = async (): Promise<boolean> => (await read(lockPath, files)) === token;
  return {
    temporaryPath: temporaryPath(path, token),
    isHeld,
    release: async () => {
      if (await isHeld().catch(() => false)) await removeFile(lockPath, files).catch(() => {});
    },
  };
}

const temporaryPath = (path: string, token: string): string => `${path}.tmp-${token}`;

/** Returns false if there is a lock already. */
async function create(lockPath: string, token: string, files: Files): Promise<boolean> {
  const handle = await files.open(lockPath, 'wx', 0o600).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  if (handle === undefined) return false;
  try {
    await handle.writeFile(token);
    return true;
  } catch (error) {
    await removeFile(lockPath, files);
    throw error;
  } finally {
    await handle.close();
  }
}

const read = (lockPath: string, files: Files): Promise<string | undefined> =>
  files.readFile(lockPath, 'utf8').catch(ignoreMissing);

/**
 * Renames the lock, which only one process can do, and then reads it. If it is the new lock of a faster process,
 * puts it back.
 */
async function removeStale(
  path: string,
  { token, holder }: { readonly token: string; readonly holder: string },
  files: Files,
): Promise<void> {
  const lockPath = `${path}.lock`;
  const moved = `${lockPath}-${token}`;
  try {
    await files.rename(lockPath, moved);
  } catch (error) {
    return ignoreMissing(error);
  }
  const isStale = (await read(moved, files)) === holder;
  if (isStale) await removeFile(temporaryPath(path, holder), files);
  else await files.link(moved, lockPath).catch(() => {});
  await removeFile(moved, files);
}

/** Removes a file that another process may have removed already. */
export async function removeFile(path: string, files: Pick<Files, 'unlink'>): Promise<void> {
  await files.unlink(path).catch(ignoreMissing);
}

export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}
