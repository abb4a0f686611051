/**
 * Lines handed to a stream that belongs to the host: an object with a `write`, a node:stream, or
 * the stream of a pino logger. It is never ended and never closed by us.
 *
 * While the writer lives, one listener for errors sits on each stream, since an 'error' event that
 * nobody listens to would end the host.
 */
import { readProperty } from '../own-properties.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import {
  type LateOutcomes,
  type LineLost,
  type LineOutcome,
  type LineSink,
  systemCode,
} from './line-sink.ts';
import { flushStream } from './stream-flush.ts';
import { kindOf, type LentStream, leavesOf, WANTS_METADATA } from './stream-kind.ts';

export interface LentOptions {
  readonly stream: LentStream;
  readonly sync: boolean;
  readonly maxBufferBytes: number;
  readonly late: LateOutcomes;
}

export class LentDestination implements LineSink {
  readonly #stream: LentStream;
  readonly #leaves: readonly LentStream[];
  readonly #options: LentOptions;
  readonly #unwatch: () => void;
  /** One for each line whose fate is not known yet. */
  readonly #pending = new Set<Promise<void>>();
  #pendingBytes = 0;
  /** Lines that a sonic-boom has taken and not confirmed yet. */
  readonly #unconfirmed: (LineLost | undefined)[] = [];
  readonly #confirmsLater: boolean;
  #fault: { readonly cause: unknown } | undefined;
  #isWriting = false;
  #hasDropped = false;
  #isMuted = false;
  #isClosed = false;

  constructor(options: LentOptions) {
    this.#options = options;
    this.#stream = options.stream;
    this.#leaves = leavesOf(options.stream);
    const [leaf] = this.#leaves;
    this.#confirmsLater =
      !options.sync &&
      leaf === options.stream &&
      kindOf(leaf) === 'sonic-boom' &&
      leaf.sync === false;
    const undo = this.#leaves.map((each) => this.#watch(each));
    this.#unwatch = () => {
      for (const off of undo) off();
    };
  }

  write(line: string, lost?: LineLost): LineOutcome {
    if (this.#isMuted) throw new Error('the pino destination ignores writes since its pipe broke');
    if (this.#leaves.some((leaf) => readProperty(leaf, 'destroyed') === true)) {
      throw new Error('the stream is destroyed');
    }
    // Writing to it all the same would destroy it, with what the host's own writes left in it.
    if (this.#leaves.some((leaf) => readProperty(leaf, 'writableEnded') === true)) {
      throw new Error('the stream has been ended');
    }
    if (!this.#options.sync && !this.#hasRoomFor(line)) return 'dropped';
    this.#fault = undefined;
    this.#hasDropped = false;
    this.#isWriting = true;
    try {
      return this.#hand(line, lost);
    } finally {
      this.#isWriting = false;
    }
  }

  #hand(line: string, lost: LineLost | undefined): LineOutcome {
    const { sync } = this.#options;
    const stream = this.#stream;
    if (!sync && kindOf(stream) === 'node') {
      const written = new Promise((resolve, reject) => {
        stream.write(line, (error) => (error ? reject(error) : resolve(undefined)));
      });
      this.#track(line, written, lost);
      return 'pending';
    }
    if (Reflect.get(stream, WANTS_METADATA) === true) Object.assign(stream, NO_METADATA);
    const answer = stream.write(line);
    if (this.#fault !== undefined) throw this.#fault.cause;
    if (this.#hasDropped && sync)
      throw new Error('the line is above the `maxLength` of the stream');
    if (this.#hasDropped) return 'dropped';
    if (!isPromiseLike(answer)) return this.#confirmsLater ? this.#await(lost) : 'written';
    if (sync) {
      answer.then(undefined, () => {});
      return 'promised';
    }
    this.#track(line, answer, lost);
    return 'pending';
  }

  /** sonic-boom reports by 'drain' that it has written all, and by 'error' that it could not. */
  #await(lost: LineLost | undefined): LineOutcome {
    // Where it has written at once, its 'drain' has come already.
    if (Reflect.get(this.#leaves[0] as LentStream, '_writing') !== true && !this.#keepsBack()) {
      return 'written';
    }
    this.#unconfirmed.push(lost);
    return 'pending';
  }

  #keepsBack(): boolean {
    return Number(this.#leaves[0]?.minLength) > 0;
  }

  #confirm(settle: (lost: LineLost | undefined) => void): void {
    const lines = this.#unconfirmed.splice(0);
    if (!this.#isClosed) for (const lost of lines) settle(lost);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#pending);
    if (this.#options.sync) return;
    await Promise.all(this.#leaves.map(flushStream));
  }

  close(): number {
    this.#isClosed = true;
    const left = this.#pending.size + this.#unconfirmed.length;
    // Lines that still wait may fail later; the host must not die of that.
    void Promise.all(this.#pending).then(this.#unwatch);
    return left;
  }

  #hasRoomFor(line: string): boolean {
    const queued = this.#leaves.map((leaf) => readProperty(leaf, 'writableLength'));
    const waiting = queued.reduce<number>(
      (sum, bytes) => sum + (typeof bytes === 'number' ? bytes : 0),
      this.#pendingBytes,
    );
    return waiting + Buffer.byteLength(line) <= this.#options.maxBufferBytes;
  }

  #track(line: string, written: PromiseLike<unknown>, lost: LineLost | undefined): void {
    const bytes = kindOf(this.#stream) === 'node' ? 0 : Buffer.byteLength(line);
    const { late } = this.#options;
    this.#pendingBytes += bytes;
    const settled = Promise.resolve(written)
      .then(
        () => {
          if (!this.#isClosed) late.written();
        },
        (cause: unknown) => {
          if (!this.#isClosed) late.failed(cause, lost);
        },
      )
      .finally(() => {
        this.#pendingBytes -= bytes;
        this.#pending.delete(settled);
      });
    this.#pending.add(settled);
  }

  #watch(leaf: LentStream): () => void {
    if (!isEmitter(leaf)) return () => {};
    const write: unknown = Reflect.get(leaf, 'write');
    const onError = (cause: unknown): void => {
      // pino.destination swallows everything after a broken pipe by replacing its `write`.
      if (systemCode(cause) === 'EPIPE' && Reflect.get(leaf, 'write') !== write)
        this.#isMuted = true;
      if (this.#isWriting) this.#fault = { cause };
      else if (this.#unconfirmed.length > 0) {
        this.#confirm((lost) => this.#options.late.failed(cause, lost));
      } else if (!this.#isClosed) this.#options.late.troubled(cause);
    };
    const onDrain = (): void => this.#confirm(() => this.#options.late.written());
    // sonic-boom tells of lines above its `maxLength` by this event alone.
    const onDrop = (): void => {
      this.#hasDropped = true;
    };
    leaf.on('error', onError);
    leaf.on('drop', onDrop);
    if (this.#confirmsLater) leaf.on('drain', onDrain);
    return () => {
      // Node tells of a failed write by the callback first, and by an 'error' event in a later turn.
      if (readProperty(leaf, 'errored') instanceof Error) return;
      leaf.off?.('error', onError);
      leaf.off?.('drop', onDrop);
      leaf.off?.('drain', onDrain);
    };
  }
}

type Emitter = LentStream & Required<Pick<LentStream, 'on' | 'off'>>;

const isEmitter = (stream: LentStream): stream is Emitter =>
  ['on', 'off'].every((name) => typeof readProperty(stream, name) === 'function');

/**
 * pino.multistream chooses by the level of the line, which a record has not: the highest number
 * reaches every stream. The rest replaces what the host's last line left behind.
 */
const NO_METADATA = {
  lastLevel: Number.MAX_SAFE_INTEGER,
  lastObj: undefined,
  lastMsg: undefined,
  lastTime: undefined,
  lastLogger: undefined,
};
