/** Writes lines before `write` returns, so that they survive a crash right after it. */
import { writeSync } from 'node:fs';
import type { LineFile } from './line-file.ts';
import { type LineOutcome, type LineSink, systemCode } from './line-sink.ts';

/** The reader is slow, or a signal interrupted the write. */
export const RETRYABLE_CODES: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EINTR']);

const MAX_PAUSE_MS = 20;

/** In characters. To write a string, Node allocates three bytes for each. */
const MAX_TEXT_LENGTH = 64 * 1024;

export class SyncFileSink implements LineSink {
  readonly #file: LineFile;

  constructor(file: LineFile) {
    this.#file = file;
  }

  write(line: string): LineOutcome {
    const file = this.#file;
    let offset = 0;
    try {
      const fd = file.descriptor();
      const text = file.isTorn ? `\n${line}` : line;
      // The first write nearly always takes the whole text, which then needs no Buffer.
      if (text.length <= MAX_TEXT_LENGTH) offset = unlessBusy(() => writeSync(fd, text));
      if (offset === Buffer.byteLength(text)) return this.#written();
      const bytes = Buffer.from(text);
      let pauseMs = 1;
      while (offset < bytes.length) {
        const count = unlessBusy(() => writeSync(fd, bytes, offset));
        offset += count;
        pauseMs = count > 0 ? 1 : pauseBlocking(pauseMs);
      }
      return this.#written();
    } catch (cause) {
      file.failed(cause, offset);
      throw cause;
    }
  }

  #written(): LineOutcome {
    this.#file.isTorn = false;
    return 'written';
  }

  flush(): Promise<void> {
    return this.#file.sync();
  }

  close(): readonly [] {
    this.#file.close();
    return [];
  }
}

/** Returns the number of bytes written: 0 if the destination is busy. */
function unlessBusy(write: () => number): number {
  try {
    return write();
  } catch (cause) {
    if (RETRYABLE_CODES.has(systemCode(cause))) return 0;
    throw cause;
  }
}

/**
 * Blocks the thread, like a write to a blocking pipe, and returns the next pause. The descriptor may
 * be non-blocking because Node makes the pipes of `process.stdout` so.
 */
function pauseBlocking(pauseMs: number): number {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
  return Math.min(pauseMs * 2, MAX_PAUSE_MS);
}
