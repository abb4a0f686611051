/** A file descriptor that lines are appended to: opened by path, or lent by the caller. */
import { closeSync, constants, fstatSync, fsync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { systemCode } from './line-sink.ts';

const sync = promisify(fsync);

// Without O_NONBLOCK, opening a FIFO that nobody reads would hang the host; with it the open fails
// at once (ENXIO). It means nothing to regular files. Windows has no such flag.
const NON_BLOCKING = constants.O_WRONLY | constants.O_APPEND | (constants.O_NONBLOCK ?? 0);

export const LINE_FEED = 0x0a;

/** The descriptor is gone: somebody closed it, or a network mount lost it. */
const GONE: ReadonlySet<string | undefined> = new Set(['EBADF', 'ESTALE']);

/** Whether a regular file ends within a line, as a crash or a full disk leaves it. */
function endsTorn(path: string, size: number): boolean {
  if (size === 0) return false;
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const last = Buffer.alloc(1);
    readSync(fd, last, 0, 1, size - 1);
    return last[0] !== LINE_FEED;
  } catch {
    // A log file may be writable only; then the check is left out.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/**
 * A descriptor for the same pipe or terminal that never blocks a thread.
 *
 * A thread that is blocked in write(2) cannot be ended: `process.exit` would wait for it for ever.
 * Opening `/proc/self/fd/<fd>` makes a description of our own, so that the flag concerns nobody who
 * shares the pipe. Sockets cannot be opened so; of those, stdout and stderr become non-blocking
 * when Node makes its own stream of them, which is what `console.log` does as well.
 */
function withoutBlocking(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, NON_BLOCKING | constants.O_NOCTTY);
  } catch {
    if (fd === 1) void process.stdout;
    if (fd === 2) void process.stderr;
    return fd;
  }
}

/** A path, opened for append, and made where it is missing; or a descriptor, taken as it is. */
export type LinePlace = string | { readonly fd: number; readonly mayBlock: boolean };

export class LineFile {
  /** The last line is incomplete: the next one must start on a line of its own. */
  isTorn = false;
  readonly #path: string | undefined;
  #fd: number | undefined;
  #isOurs = false;
  #isRegular = false;

  /** Throws the system's error where the path cannot be opened, or the descriptor is not open. */
  constructor(place: LinePlace) {
    if (typeof place === 'string') {
      this.#path = place;
      this.#open(place);
      return;
    }
    const { fd, mayBlock } = place;
    this.#isRegular = fstatSync(fd).isFile();
    this.#fd = mayBlock || this.#isRegular ? fd : withoutBlocking(fd);
    this.#isOurs = this.#fd !== fd;
  }

  #open(path: string): number {
    const fd = openSync(path, NON_BLOCKING | constants.O_CREAT, 0o666);
    const stats = fstatSync(fd);
    this.#fd = fd;
    this.#isOurs = true;
    this.#isRegular = stats.isFile();
    this.isTorn = this.#isRegular && endsTorn(path, stats.size);
    return fd;
  }

  /** The descriptor. Only one that was opened by path can be lost, and is opened again. */
  descriptor(): number {
    return this.#fd ?? this.#open(this.#path as string);
  }

  /** Notes that a write failed after `writtenBytes` of its line. */
  failed(cause: unknown, writtenBytes: number): void {
    if (writtenBytes > 0) this.isTorn = true;
    // A number that is not ours any more may by now name another file: it is not closed.
    if (this.#path !== undefined && GONE.has(systemCode(cause))) this.#fd = undefined;
  }

  /** Regular files alone: pipes, sockets and terminals have nothing to sync. */
  async sync(): Promise<void> {
    if (!this.#isRegular || this.#fd === undefined) return;
    try {
      await sync(this.#fd);
    } catch (cause) {
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
      // Closed by somebody else: it is as gone as it was meant to be.
    }
  }
}
