/**
 * Lines that wait in memory, in bounded room, and are written in the background (`sync: false`).
 *
 * fs.writev in libuv's threads never blocks the host, and on a non-blocking descriptor (see
 * LineFile) never blocks a thread either. A stalled reader is asked again in growing steps. After
 * HOLD_MS without a byte taken, the time between two askings no longer holds the process unless a
 * `flush` waits: a pipe that nobody reads must not keep a process from ending (D80).
 */
import { writev } from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../runtime/clock.ts';
import { LINE_FEED, type LineFile } from './line-file.ts';
import {
  type LateOutcomes,
  type LineLost,
  type LineOutcome,
  type LineSink,
  systemCode,
} from './line-sink.ts';
import { TRY_AGAIN } from './sync-destination.ts';

const writeBuffers = promisify(writev);

const MAX_BATCH_LINES = 256;
const MAX_PAUSE_MS = 50;
/** How long a reader that takes nothing holds a process that has nothing else to do. */
const HOLD_MS = 1000;
/** How soon it is noticed that such a reader reads again. */
const REST_MS = 100;

export interface BufferedOptions {
  readonly file: LineFile;
  readonly maxBufferBytes: number;
  readonly clock: Clock;
  readonly late: LateOutcomes;
}

interface Line {
  bytes: Buffer;
  readonly lost: LineLost | undefined;
}

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
}

export class BufferedDestination implements LineSink {
  readonly #file: LineFile;
  readonly #maxBufferBytes: number;
  readonly #clock: Clock;
  readonly #late: LateOutcomes;
  readonly #queue: Line[] = [];
  /** Taken from the queue to be written; its first line is written up to `#offset`. */
  #batch: Line[] = [];
  #offset = 0;
  #pendingBytes = 0;
  #accepted = 0;
  #settled = 0;
  #waiters: Waiter[] = [];
  #isDraining = false;
  #isClosed = false;
  #stalledMs = 0;
  #rest = new AbortController();

  constructor(options: BufferedOptions) {
    this.#file = options.file;
    this.#maxBufferBytes = options.maxBufferBytes;
    this.#clock = options.clock;
    this.#late = options.late;
  }

  write(line: string, lost?: LineLost): LineOutcome {
    const bytes = Buffer.from(line);
    if (this.#pendingBytes + bytes.length > this.#maxBufferBytes) return 'dropped';
    this.#queue.push({ bytes, lost });
    this.#pendingBytes += bytes.length;
    this.#accepted += 1;
    if (!this.#isDraining) void this.#drain();
    return 'pending';
  }

  async flush(): Promise<void> {
    const upTo = this.#accepted;
    if (this.#settled < upTo) {
      await new Promise<void>((resolve) => {
        this.#waiters.push({ upTo, resolve });
        // The wait for a stalled reader may be one that does not hold the process: this one does.
        this.#rest.abort();
      });
    }
    await this.#file.sync();
  }

  close(): number {
    const left = this.#accepted - this.#settled;
    this.#isClosed = true;
    this.#settled = this.#accepted;
    this.#queue.length = 0;
    this.#batch = [];
    this.#answerWaiters();
    this.#rest.abort();
    // A write in progress still uses the descriptor, whose number could be given to another file.
    if (!this.#isDraining) this.#file.close();
    return left;
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
      const { bytesWritten } = await writeBuffers(fd, [first.subarray(this.#offset), ...rest]);
      this.#stalledMs = 0;
      this.#file.isTorn = false;
      this.#advance(bytesWritten);
    } catch (cause) {
      if (TRY_AGAIN.has(systemCode(cause))) await this.#pause();
      else this.#failFirst(cause);
    }
  }

  /** The file counts as torn until a byte of this is written; no line begins with a line feed. */
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
      this.#late.written();
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
    this.#late.failed(cause, first.lost);
  }

  #settle({ bytes }: Line): void {
    this.#pendingBytes -= bytes.length;
    this.#settled += 1;
    this.#answerWaiters();
  }

  #answerWaiters(): void {
    if (this.#waiters.length === 0) return;
    const answered = this.#waiters.filter(({ upTo }) => upTo <= this.#settled);
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > this.#settled);
    for (const { resolve } of answered) resolve();
  }

  async #pause(): Promise<void> {
    if (this.#isClosed) return;
    const ms = Math.min(this.#stalledMs + 1, MAX_PAUSE_MS);
    const isHolding = this.#waiters.length > 0 || this.#stalledMs < HOLD_MS;
    this.#stalledMs += ms;
    if (isHolding) return this.#clock.sleep(ms);
    this.#rest = new AbortController();
    await this.#clock.idle(REST_MS, this.#rest.signal);
  }
}
