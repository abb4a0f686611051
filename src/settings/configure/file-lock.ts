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
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';

export type Files = Pick<
  typeof fs,
  'open' | 'readdir' | 'readFile' | 'readlink' | 'realpath' | 'rename' | 'stat' | 'unlink'
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
  /** Never rejects: what was written is written, and a lock that stays is that of the dead in time. */
  release(): Promise<void>;
}

/** Writing takes milliseconds: one seen for as long is of a process that hangs, or of another machine's dead. */
const STALE_MS = 20_000;
const GIVE_UP_MS = 60_000;
const MAX_WAIT_MS = 30;

/** @throws SecurityEventError `ERR_CONFIGURATION_FAILED` where others hold the lock for a minute. */
export async function lockFile(path: string, system: LockSystem): Promise<Lock> {
  const { clock, random } = system;
  const rivals = new Rivals(path, await ownIdentity(), system);
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
  readonly #own: Identity;
  readonly #system: LockSystem;
  /** When a lock was first seen, by our own clock: those of file servers may differ. */
  readonly #seenAtMs = new Map<string, number>();

  constructor(path: string, own: Identity, system: LockSystem) {
    this.#folder = dirname(path);
    this.#base = basename(path);
    this.#own = own;
    this.#system = system;
  }

  async tryLock(): Promise<Lock | undefined> {
    const { files } = this.#system;
    if ((await this.#others('')).length > 0) return undefined;
    const { host, pid, startedAt } = this.#own;
    const id = [host, pid, startedAt, randomBytes(8).toString('hex')].join('-');
    const path = this.#lockPath(id);
    const handle = await files.open(path, 'wx', 0o600);
    await handle.close();
    const release = (): Promise<void> => removeFile(path, files).catch(() => undefined);
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
      if (!(await this.#isGone(id))) living.push(id);
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

  async #isGone(id: string): Promise<boolean> {
    const now = this.#system.clock.monotonicMs();
    const seenAtMs = this.#seenAtMs.get(id) ?? now;
    this.#seenAtMs.set(id, seenAtMs);
    if (now - seenAtMs >= STALE_MS) return true;
    const [host, pid = '', startedAt = ''] = id.split('-');
    if (host !== this.#own.host) return false;
    return !isRunning(Number(pid)) || (await isAnother(pid, startedAt));
  }

  readonly #lockPath = (id: string): string => join(this.#folder, `${this.#base}.lock-${id}`);
  readonly #temporaryPath = (id: string): string => join(this.#folder, `${this.#base}.tmp-${id}`);
}

/** Who writes. */
interface Identity {
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * A process id means something on its own machine, since that was started, and in its own container
 * alone. Names of machines are not enough: many are called the same.
 */
async function ownIdentity(): Promise<Identity> {
  const { pid } = process;
  const container = await readlink('/proc/self/ns/pid').catch(() => '');
  const started = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  const machine = [hostname(), container, started].join(' ');
  const host = createHash('sha256').update(machine).digest('hex').slice(0, 12);
  return { host, pid, startedAt: await startOf(pid) };
}

/** Of a process, in ticks since its machine was started; empty where that cannot be told. */
async function startOf(pid: number | string): Promise<string> {
  const facts = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Its name, the second fact, may have spaces and parentheses.
  const fromThird = facts.slice(facts.lastIndexOf(')') + 2).split(' ');
  return fromThird[0] === 'Z' ? 'ended' : (fromThird[19] ?? '');
}

/** Ids are used again, in a container every program may be process 1, and one that ended may keep its id. */
async function isAnother(pid: string, startedAt: string): Promise<boolean> {
  const known = await startOf(pid);
  return known !== '' && startedAt !== '' && known !== startedAt;
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
