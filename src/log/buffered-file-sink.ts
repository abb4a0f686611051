/**
 * Buffers lines in memory, up to a limit, and writes them in the background (`sync: false`).
 *
 * fs.writev runs in libuv's threads and never blocks the host; on a non-blocking descriptor (see
 * LineFile) it does not block a thread either. While the reader is stalled, writes are retried with
 * growing pauses. After KEEP_ALIVE_MS these pauses no longer keep the process alive unless a `flush`
 * waits: a pipe that is not read must not keep the process from exiting.
 */
import { writev } from 'node:fs';
import { promisify } from 'node:util';
import { type Deferred, deferred } from '../runtime/deferred.ts';
import { untraced } from '../runtime/untraced.ts';
import { LINE_FEED, type LineFile } from './line-file.ts';
import {
  type LineOutcome,
  type LineSink,
  type OnLost,
  type SinkOptions,
  systemCode,
} from './line-sink.ts';
import { RETRYABLE_CODES } from './sync-file-sink.ts';

const writeBuffers = promisify(writev);

const MAX_BATCH_LINES = 256;
const MAX_PAUSE_MS = 50;
/** Time after which a stalled reader no longer keeps the process alive. */
const KEEP_ALIVE_MS = 1000;
/** Pause between two retries after that. */
const IDLE_PAUSE_MS = 100;

interface Line {
  bytes: Buffer;
  readonly onLost: OnLost | undefined;
  /** Ends when the line is written or lost, if a flush waits for that. */
  end?: Deferred;
}

export class BufferedFileSink implements LineSink {
  readonly #file: LineFile;
  readonly #options: SinkOptions;
  readonly #queue: Line[] = [];
  /** The lines being written; the first is written up to `#offset`. */
  #batch: Line[] = [];
  #offset = 0;
  #pendingBytes = 0;
  /** Number of calls of `flush` that wait for lines. */
  #waiting = 0;
  #isDraining = false;
  #isClosed = false;
  #stalledMs = 0;
  #idlePause = new AbortController();

  constructor(file: LineFile, options: SinkOptions) {
    this.#file = file;
    this.#options = options;
  }

  write(line: string, onLost?: OnLost): LineOutcome {
    const bytes = Buffer.from(line);
    if (this.#pendingBytes + bytes.length > this.#options.maxBufferBytes) return 'dropped';
    this.#queue.push({ bytes, onLost });
    this.#pendingBytes += bytes.length;
    if (!this.#isDraining) void this.#drain();
    return 'pending';
  }

  async flush(): Promise<void> {
    const last = this.#queue.at(-1) ?? this.#batch.at(-1);
    if (last !== undefined) {
      last.end ??= deferred();
      this.#waiting += 1;
      // Ends an idle pause, since pauses must keep the process alive while a flush waits.
      this.#idlePause.abort();
      await last.end.promise;
      this.#waiting -= 1;
    }
    await this.#file.sync();
  }

  close(): readonly (OnLost | undefined)[] {
    const left = [...this.#batch, ...this.#queue];
    this.#isClosed = true;
    this.#queue.length = 0;
    this.#batch = [];
    for (const { end } of left) end?.resolve();
    this.#idlePause.abort();
    // A write in progress still uses the descriptor: its number could be reused for another file.
    if (!this.#isDraining) this.#file.close();
    return left.map(({ onLost }) => onLost);
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) {
      this.#batch = this.#queue.splice(0, MAX_BATCH_LINES);
      this.#offset = 0;
      while (this.#batch.length > 0) await this.#writeBatch();
    }
    this.#isDraining = false;
    if (this.#isClosed) this.#file.close();
  }

  async #writeBatch(): Promise<void> {
    try {
      const fd = this.#file.descriptor();
      if (this.#file.isTorn) this.#startNewLine();
      const [first, ...rest] = this.#batch.map(({ bytes }) => bytes) as [Buffer, ...Buffer[]];
      const buffers = [first.subarray(this.#offset), ...rest];
      const { bytesWritten } = await untraced(() => writeBuffers(fd, buffers));
      this.#stalledMs = 0;
      this.#file.isTorn = false;
      this.#advance(bytesWritten);
    } catch (cause) {
      if (RETRYABLE_CODES.has(systemCode(cause))) await this.#pause();
      else this.#failFirst(cause);
    }
  }

  /** Puts a line feed before the first line, once: no line begins with one itself. */
  #startNewLine(): void {
    const first = this.#batch[0] as Line;
    if (first.bytes[0] === LINE_FEED) return;
    first.bytes = Buffer.concat([Buffer.of(LINE_FEED), first.bytes]);
    this.#pendingBytes += 1;
  }

  #advance(bytesWritten: number): void {
    let left = this.#offset + bytesWritten;
    let first = this.#batch[0];
    while (first !== undefined && left >= first.bytes.length) {
      left -= first.bytes.length;
      this.#batch.shift();
      this.#settle(first);
      this.#options.late.written();
      first = this.#batch[0];
    }
    this.#offset = left;
  }

  #failFirst(cause: unknown): void {
    this.#file.failed(cause, this.#offset);
    const first = this.#batch.shift();
    this.#offset = 0;
    if (first === undefined) return;
    this.#settle(first);
    this.#options.late.failed(cause, first.onLost);
  }

  #settle({ bytes, end }: Line): void {
    this.#pendingBytes -= bytes.length;
    end?.resolve();
  }

  async #pause(): Promise<void> {
    if (this.#isClosed) return;
    const ms = Math.min(this.#stalledMs + 1, MAX_PAUSE_MS);
    const keepsAlive = this.#waiting > 0 || this.#stalledMs < KEEP_ALIVE_MS;
    this.#stalledMs += ms;
    const { clock } = this.#options;
    if (keepsAlive) return clock.sleep(ms);
    this.#idlePause = new AbortController();
    await clock.sleepUnref(IDLE_PAUSE_MS, this.#idlePause.signal);
  }
}
