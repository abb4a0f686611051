/**
 * Shares one worker for each real file among all queues of the process, however they spell its path. Two copies
 * of this package share the registry.
 *
 * Our code must not open the file or the ones beside it except through SQLite: closing any descriptor of a
 * file drops all POSIX locks that the process has on it.
 */
import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { SecurityEventError } from '../../errors.ts';
import { invalidOption } from '../../option-rules.ts';
import { DiagnosticsChannel } from '../../runtime/diagnostics.ts';
import { type CallArguments, FileWorker } from './file-worker.ts';
import { type HandleSettings, PROTOCOL_VERSION, type WorkerPost } from './protocol.ts';
import type { SqliteQueueDamage } from './sqlite-options.ts';
import type { Operation, Operations } from './worker/operations.ts';

/** A clock for tests. Without one, the worker reads the machine's clock. */
export interface WallClock {
  now(): number;
}

/** A queue or an incident store that uses the file. */
export interface FileHandle {
  readonly clock: WallClock | undefined;
  /** `null` for an incident store. */
  settings: HandleSettings | null;
  readonly onDue?: () => void;
  readonly onDamage?: (damage: SqliteQueueDamage) => void;
}

interface Registry {
  readonly version: number;
  readonly files: Map<string, SharedFile>;
  /** One function for all copies of the package, so that each can remove it. */
  readonly stopAll: () => void;
}

/** Publishes each {@link SqliteQueueDamage} once. */
const damagedChannel = new DiagnosticsChannel<SqliteQueueDamage>('queue-damaged');

const REGISTRY = Symbol.for('security-event-delivery.sqlite-files');

type Global = typeof globalThis & { [REGISTRY]?: Registry };

export class SharedFile {
  readonly #path: string;
  readonly #handles = new Set<FileHandle>();
  #worker: FileWorker | undefined;
  #closing: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  add(handle: FileHandle): void {
    this.#handles.add(handle);
  }

  call<Name extends Operation>(
    { clock, settings }: FileHandle,
    operation: Name,
    given: CallArguments<Name>,
  ): Promise<Operations[Name][1]> {
    const nowMs = clock?.now() ?? null;
    const call = () => this.#openWorker().call(operation, { ...given, nowMs, settings });
    return this.#closing === undefined ? call() : this.#closing.then(call);
  }

  /** Returns the worker. Starts one if there is none, or it has crashed. */
  #openWorker(): FileWorker {
    if (this.#worker === undefined || this.#worker.isClosed) {
      const data = { file: this.#path, inode: this.#worker?.inode };
      this.#worker = new FileWorker(data, (post) => this.#onEvent(post));
    }
    return this.#worker;
  }

  /** Removing the last handle closes the file. */
  async remove(handle: FileHandle): Promise<void> {
    if (!this.#handles.delete(handle) || this.#handles.size > 0) return;
    const closing = this.#close();
    this.#closing = closing;
    await closing;
    if (this.#closing === closing) this.#closing = undefined;
    if (this.#handles.size === 0) forgetFile(this.#path, this);
  }

  async #close(): Promise<void> {
    await this.#closing;
    // The field keeps the worker: if the process ends now, `stop` waits until the worker is outside SQLite.
    if (this.#worker?.isClosed === false) await this.#worker.close();
  }

  stop(): void {
    this.#worker?.stop();
  }

  #onEvent({ due, damage }: Pick<WorkerPost, 'due' | 'damage'>): void {
    for (const one of damage) {
      const report: SqliteQueueDamage = { file: this.#path, ...one };
      damagedChannel.publish(report);
      for (const { onDamage } of this.#handles) onDamage?.(report);
    }
    if (due) for (const { onDue } of this.#handles) onDue?.();
  }
}

/** Returns the file from the registry, or adds it. Creates its folder if that is missing. */
export function sharedFile(file: string): SharedFile {
  const registry = registryOf();
  if (registry.version !== PROTOCOL_VERSION) {
    const detail = 'another version of this package has opened SQLite queues in this process';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  const path = realPath(file);
  const known = registry.files.get(path);
  if (known !== undefined) return known;
  if (registry.files.size === 0) process.on('exit', registry.stopAll);
  const created = new SharedFile(path);
  registry.files.set(path, created);
  return created;
}

function registryOf(): Registry {
  const scope = globalThis as Global;
  const files = new Map<string, SharedFile>();
  // A process that ends while a thread is inside SQLite can abort.
  const stopAll = (): void => {
    for (const file of files.values()) file.stop();
  };
  scope[REGISTRY] ??= { version: PROTOCOL_VERSION, files, stopAll };
  return scope[REGISTRY];
}

function forgetFile(path: string, file: SharedFile): void {
  const { files, stopAll } = registryOf();
  if (files.get(path) !== file) return;
  files.delete(path);
  if (files.size === 0) process.off('exit', stopAll);
}

/** Links beyond this number are not followed: they may form a cycle. */
const MAX_LINKS = 40;

function realPath(file: string): string {
  try {
    let path = file;
    for (let links = 0; links < MAX_LINKS && isLink(path); links += 1) {
      path = resolve(dirname(path), readlinkSync(path));
    }
    makeFolder(dirname(path));
    const real = join(realpathSync.native(dirname(path)), basename(path));
    refuseUnsuitable(real);
    return real;
  } catch (cause) {
    if (cause instanceof SecurityEventError) throw cause;
    const detail = 'the folder of the file cannot be used';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail, cause });
  }
}

/** Creates the folder and those above it. Not with `recursive`: in /proc, for instance, Node then never returns. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it.
    if (!existsSync(folder)) throw error;
  }
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

function refuseUnsuitable(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isFile()) {
    // A device has no size, so it would be taken for a new file, and its mode would be changed.
    throw invalidOption('expected file to be a file; it is a folder, a device or a pipe', ['file']);
  }
  if (stats.nlink > 1) {
    // Two processes that open a file by two names use two write-ahead logs, and damage it.
    const detail =
      'another process could damage the file by its second name (a hard link): remove it';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
}
