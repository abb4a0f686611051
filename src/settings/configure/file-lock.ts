/**
 * One writer at a time, in however many processes: a lock made of files that everybody may make and
 * anybody may remove once their maker is gone.
 *
 * Who wants to write announces that by a file of a name nobody else has, and then looks who else has:
 * alone, it has the lock; otherwise it takes its file back and tries again. Of two that announce
 * themselves at a time at least one sees the other. And since no name is ever used again, removing what
 * a dead process left can never hit the lock of a living one, which one lock file for all cannot promise.
 */
import { createHash, randomBytes } from 'node:crypto';
import type * as fs from 'node:fs/promises';
import { readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';

export type Files = Pick<
  typeof fs,
  'open' | 'readdir' | 'readFile' | 'realpath' | 'rename' | 'stat' | 'unlink'
>;

export interface LockSystem {
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Lock {
  /** Where the holder may write before it renames: removed with the lock of a holder that died. */
  readonly temporaryPath: string;
  /** False where others took the holder for dead, as after a long sleep of the machine. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** Writing takes milliseconds: one seen for as long is of a process that hangs, or of another machine's dead. */
const STALE_MS = 20_000;
const GIVE_UP_MS = 60_000;
const MAX_WAIT_MS = 30;

/** @throws SecurityEventError `ERR_CONFIGURATION_FAILED` where others hold the lock for a minute. */
export async function lockFile(path: string, system: LockSystem): Promise<Lock> {
  const { clock, random } = system;
  const rivals = new Rivals(path, await identityOfHost(), system);
  const giveUpAtMs = clock.monotonicMs() + GIVE_UP_MS;
  for (;;) {
    const lock = await rivals.tryLock();
    if (lock !== undefined) return lock;
    if (clock.monotonicMs() >= giveUpAtMs) {
      const detail = 'others have been writing for a minute';
      throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { detail });
    }
    await clock.sleep(1 + random() * MAX_WAIT_MS);
  }
}

class Rivals {
  readonly #folder: string;
  readonly #base: string;
  readonly #host: string;
  readonly #system: LockSystem;
  /** When a lock was first seen, by our own clock: those of file servers may differ. */
  readonly #seenAtMs = new Map<string, number>();

  constructor(path: string, host: string, system: LockSystem) {
    this.#folder = dirname(path);
    this.#base = basename(path);
    this.#host = host;
    this.#system = system;
  }

  async tryLock(): Promise<Lock | undefined> {
    const { files } = this.#system;
    if ((await this.#others('')).length > 0) return undefined;
    const id = `${this.#host}-${process.pid}-${randomBytes(8).toString('hex')}`;
    const path = this.#lockPath(id);
    const handle = await files.open(path, 'wx', 0o600);
    await handle.close();
    const release = (): Promise<void> => removeFile(path, files);
    try {
      if ((await this.#others(id)).length === 0) {
        const temporaryPath = this.#temporaryPath(id);
        return { temporaryPath, isHeld: () => isThere(path, files), release };
      }
    } catch (error) {
      await release();
      throw error;
    }
    await release();
    return undefined;
  }

  /** Who else has announced itself and is not gone; what the others left is removed. */
  async #others(ownId: string): Promise<readonly string[]> {
    const { files } = this.#system;
    const prefix = `${this.#base}.lock-`;
    const names = await files.readdir(this.#folder);
    const ids = names
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
    const living: string[] = [];
    for (const id of ids.filter((one) => one !== ownId)) {
      if (!this.#isGone(id)) living.push(id);
      else await this.#removeRest(id);
    }
    return living;
  }

  async #removeRest(id: string): Promise<void> {
    const { files } = this.#system;
    // In this order: as long as the lock is there, somebody will remove the other.
    await removeFile(this.#temporaryPath(id), files);
    await removeFile(this.#lockPath(id), files);
  }

  #isGone(id: string): boolean {
    const now = this.#system.clock.monotonicMs();
    const seenAtMs = this.#seenAtMs.get(id) ?? now;
    this.#seenAtMs.set(id, seenAtMs);
    if (now - seenAtMs >= STALE_MS) return true;
    const [host, pid] = id.split('-');
    return host === this.#host && !isRunning(Number(pid));
  }

  readonly #lockPath = (id: string): string => join(this.#folder, `${this.#base}.lock-${id}`);
  readonly #temporaryPath = (id: string): string => join(this.#folder, `${this.#base}.tmp-${id}`);
}

/** A process id means something on its own machine, and in its own container, alone. */
async function identityOfHost(): Promise<string> {
  const container = await readlink('/proc/self/ns/pid').catch(() => '');
  return createHash('sha256').update(`${hostname()} ${container}`).digest('hex').slice(0, 12);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs, as somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Another one may have been quicker. */
export async function removeFile(path: string, files: Pick<Files, 'unlink'>): Promise<void> {
  await files.unlink(path).catch(ignoreMissing);
}

const isThere = (path: string, files: Files): Promise<boolean> =>
  files.stat(path).then(
    () => true,
    (error: unknown) => ignoreMissing(error) ?? false,
  );

export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}
