/**
 * One worker for each real file of the process, however many queues have it open and however its path
 * is spelled. Two copies of this package share the registry.
 *
 * No code of ours may open the file or the ones beside it except through SQLite: closing any
 * descriptor of a file drops all POSIX locks that the process has on it.
 */
import { lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { SecurityEventError } from '../../errors.ts';
import { publishDamage, type SqliteQueueDamage } from './damage.ts';
import { type Answer, FileWorker } from './file-worker.ts';
import { type Operation, type Operations, PROTOCOL_VERSION } from './protocol.ts';

/** What a handle of the file wants to know. */
export interface FileListener {
  readonly sync: boolean;
  readonly watches: () => boolean;
  readonly onDue: () => void;
  readonly onDamage: (damage: SqliteQueueDamage) => void;
}

interface CallOptions {
  readonly nowMs: number | null;
  readonly bodies?: readonly Uint8Array[];
}

interface Registry {
  readonly version: number;
  readonly files: Map<string, SharedFile>;
}

const REGISTRY = Symbol.for('security-event-delivery.sqlite-files');

type Global = typeof globalThis & { [REGISTRY]?: Registry };

export class SharedFile {
  readonly #path: string;
  readonly #listeners = new Set<FileListener>();
  #worker: FileWorker | undefined;
  #closing: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  add(listener: FileListener): void {
    this.#listeners.add(listener);
    this.refresh();
  }

  /** Tells the worker what the handles want. */
  refresh(): void {
    this.#worker?.configure(this.#settings());
  }

  async call<Name extends Operation>(
    operation: Name,
    argument: Operations[Name][0],
    options: CallOptions,
  ): Promise<Answer<Operations[Name][1]>> {
    await this.#closing;
    // One that has crashed is replaced: it opens the file again.
    if (this.#worker === undefined || this.#worker.isOver) this.#worker = this.#start();
    return await this.#worker.call(operation, argument, options);
  }

  /** The last one closes the file. */
  async remove(listener: FileListener): Promise<void> {
    if (!this.#listeners.delete(listener)) return;
    if (this.#listeners.size > 0) {
      this.refresh();
      return;
    }
    this.#closing = this.#close();
    await this.#closing;
    if (this.#listeners.size === 0) forgetFile(this.#path, this);
  }

  async #close(): Promise<void> {
    await this.#closing;
    const worker = this.#worker;
    // It stays the worker while it closes, so that the end of the process waits for it.
    if (worker !== undefined && !worker.isOver) await worker.close();
  }

  stop(): void {
    this.#worker?.stop();
  }

  #settings() {
    const listeners = [...this.#listeners];
    return {
      sync: listeners.some(({ sync }) => sync),
      watch: listeners.some(({ watches }) => watches()),
    };
  }

  #start(): FileWorker {
    return new FileWorker(this.#path, this.#settings(), ({ due, damage }) => {
      if (damage !== null) {
        const { kind, lost: applications, missing: missingSequences } = damage;
        this.#report({ file: this.#path, kind, applications, missingSequences });
      }
      if (due) for (const { onDue } of this.#listeners) onDue();
    });
  }

  #report(damage: SqliteQueueDamage): void {
    publishDamage(damage);
    for (const { onDamage } of this.#listeners) onDamage(damage);
  }
}

/** Finds or makes the process's one entry for the file. Its folder is made when it is missing. */
export function sharedFile(file: string): SharedFile {
  const registry = registryOf();
  if (registry.version !== PROTOCOL_VERSION) {
    const detail = 'another version of this package has opened SQLite queues in this process';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  const path = realPath(file);
  const known = registry.files.get(path);
  if (known !== undefined) return known;
  if (registry.files.size === 0) process.on('exit', stopAll);
  const made = new SharedFile(path);
  registry.files.set(path, made);
  return made;
}

function registryOf(): Registry {
  const scope = globalThis as Global;
  scope[REGISTRY] ??= { version: PROTOCOL_VERSION, files: new Map() };
  return scope[REGISTRY];
}

/** A process that ends while a thread is inside SQLite can abort. */
function stopAll(): void {
  for (const file of registryOf().files.values()) file.stop();
}

function forgetFile(path: string, file: SharedFile): void {
  const { files } = registryOf();
  if (files.get(path) !== file) return;
  files.delete(path);
  if (files.size === 0) process.off('exit', stopAll);
}

/** Links in a row; more are a circle. */
const MAX_LINKS = 40;

function realPath(file: string): string {
  try {
    let path = file;
    for (let links = 0; links < MAX_LINKS && isLink(path); links += 1) {
      path = resolve(dirname(path), readlinkSync(path));
    }
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const real = join(realpathSync.native(dirname(path)), basename(path));
    refuseHardLink(real);
    return real;
  } catch (cause) {
    if (cause instanceof SecurityEventError) throw cause;
    const detail = 'the folder of the file cannot be used';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail, cause });
  }
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** Processes that open a file by two names have two write-ahead logs, and damage it. */
function refuseHardLink(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.nlink ?? 1) <= 1) return;
  const detail =
    'the file has a second name (a hard link), by which another process could damage it';
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}
