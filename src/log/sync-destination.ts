/** Lines written before `write` returns, so that they survive whatever ends the process. */
import { writeSync } from 'node:fs';
import type { LineFile } from './line-file.ts';
import { type LineOutcome, type LineSink, systemCode } from './line-sink.ts';

/** The reader is slow, or a signal came in between: neither is a failure. */
export const TRY_AGAIN: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EINTR']);

const MAX_PAUSE_MS = 20;

/** Node takes three bytes a character for a text that it is to write. */
const MAX_TEXT = 64 * 1024;

export class SyncDestination implements LineSink {
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
      // Nearly always it is taken whole, and then it need not be made into bytes here.
      if (text.length <= MAX_TEXT) offset = unlessBusy(() => writeSync(fd, text));
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

  close(): number {
    this.#file.close();
    return 0;
  }
}

/** How many bytes were taken; 0 where the destination takes none just now. */
function unlessBusy(write: () => number): number {
  try {
    return write();
  } catch (cause) {
    if (TRY_AGAIN.has(systemCode(cause))) return 0;
    throw cause;
  }
}

/**
 * Waits as a blocking pipe would, without burning the processor, and returns how long to wait next
 * time. A descriptor is non-blocking when somebody who shares it made it so, as Node does with
 * pipes under `process.stdout`.
 */
function pauseBlocking(pauseMs: number): number {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
  return Math.min(pauseMs * 2, MAX_PAUSE_MS);
}
