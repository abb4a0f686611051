/** A file descriptor that lines are appended to: opened by path, or passed by the caller. */
import { closeSync, constants, fstatSync, fsync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { systemCode } from './line-sink.ts';

const sync = promisify(fsync);

// Without O_NONBLOCK, opening a FIFO without a reader would hang the host; with it the open fails at
// once (ENXIO). It has no effect on regular files. Windows has no such flag.
const APPEND_NON_BLOCKING = constants.O_WRONLY | constants.O_APPEND | (constants.O_NONBLOCK ?? 0);

export const LINE_FEED = 0x0a;

/** The descriptor was closed elsewhere, or lost by a network mount. */
const STALE_CODES: ReadonlySet<string | undefined> = new Set(['EBADF', 'ESTALE']);

/** Returns whether a regular file ends with an incomplete line, after a crash or a full disk. */
function endsTorn(path: string, size: number): boolean {
  if (size === 0) return false;
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const last = Buffer.alloc(1);
    readSync(fd, last, 0, 1, size - 1);
    return last[0] !== LINE_FEED;
  } catch {
    // A log file may be write-only.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/**
 * Returns a non-blocking descriptor for the same pipe or terminal: `process.exit` would wait forever
 * for a thread that is blocked in write(2).
 *
 * Opening `/proc/self/fd/<fd>` creates our own file description, so the flag does not affect others
 * who share the pipe. Sockets cannot be opened like this. If stdout or stderr is one, it becomes
 * non-blocking when Node creates its stream for it, as `console.log` would do.
 */
function withoutBlocking(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, APPEND_NON_BLOCKING | constants.O_NOCTTY);
  } catch {
    if (fd === 1) void process.stdout;
    if (fd === 2) void process.stderr;
    return fd;
  }
}

/**
 * A path, opened for appending and created if it is missing; or an open descriptor. `mayBlock`: a write may
 * block the thread while the reader is slow.
 */
export type LineTarget = string | { readonly fd: number; readonly mayBlock: boolean };

export class LineFile {
  /** The last line is incomplete: a line feed must be written before the next one. */
  isTorn = false;
  readonly #path: string | undefined;
  #fd: number | undefined;
  #isOurs = false;
  #isRegular = false;

  /** Throws the system's error if the path cannot be opened, or the descriptor is not open. */
  constructor(target: LineTarget) {
    if (typeof target === 'string') {
      this.#path = target;
      this.#open(target);
      return;
    }
    const { fd, mayBlock } = target;
    this.#isRegular = fstatSync(fd).isFile();
    this.#fd = mayBlock || this.#isRegular ? fd : withoutBlocking(fd);
    this.#isOurs = this.#fd !== fd;
  }

  #open(path: string): number {
    const fd = openSync(path, APPEND_NON_BLOCKING | constants.O_CREAT, 0o666);
    const stats = fstatSync(fd);
    this.#fd = fd;
    this.#isOurs = true;
    this.#isRegular = stats.isFile();
    this.isTorn = this.#isRegular && endsTorn(path, stats.size);
    return fd;
  }

  /** Opens the path again if its descriptor was lost. */
  descriptor(): number {
    return this.#fd ?? this.#open(this.#path as string);
  }

  /** Must be called when a write failed after `writtenBytes` of its line. */
  failed(cause: unknown, writtenBytes: number): void {
    if (writtenBytes > 0) this.isTorn = true;
    // Not closed: the number may belong to another file now.
    if (this.#path !== undefined && STALE_CODES.has(systemCode(cause))) this.#fd = undefined;
  }

  /** Does nothing for pipes, sockets and terminals, and under Node's permission model, which forbids fsync. */
  async sync(): Promise<void> {
    if (!this.#isRegular || this.#fd === undefined) return;
    try {
      await sync(this.#fd);
    } catch (cause) {
      if (systemCode(cause) === 'ERR_ACCESS_DENIED') return;
      this.failed(cause, 0);
      throw cause;
    }
  }

  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd === undefined || !this.#isOurs) return;
    try {
      closeSync(fd);
    } catch {
      // Closed elsewhere already.
    }
  }
}
