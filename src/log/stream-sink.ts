/**
 * Writes lines to a stream of the host: an object with a `write`, a node:stream, or the stream of a
 * pino logger. Never ends or closes it. Listens for errors while the writer is open, since an 'error'
 * event without a listener would crash the host.
 */
import { hasMethods, readProperty } from '../own-properties.ts';
import { ignoreRejection, isPromiseLike } from '../runtime/host-calls.ts';
import {
  type LineOutcome,
  type LineSink,
  type OnLost,
  type SinkOptions,
  systemCode,
} from './line-sink.ts';
import {
  flushStream,
  type HostStream,
  leavesOf,
  streamKindOf,
  WANTS_METADATA,
} from './stream-kind.ts';

export class StreamSink implements LineSink {
  readonly #stream: HostStream;
  readonly #leaves: readonly HostStream[];
  readonly #options: SinkOptions;
  readonly #unwatch: () => void;
  /** One for each line that is not written or lost yet. */
  readonly #pending = new Map<Promise<void>, OnLost | undefined>();
  #pendingBytes = 0;
  /** Lines that a sonic-boom has accepted and not confirmed yet. */
  readonly #unconfirmed: (OnLost | undefined)[] = [];
  readonly #confirmsLater: boolean;
  #error: { readonly cause: unknown } | undefined;
  #isWriting = false;
  #hasDropped = false;
  #isMuted = false;
  #isClosed = false;

  constructor(stream: HostStream, options: SinkOptions) {
    this.#options = options;
    this.#stream = stream;
    this.#leaves = leavesOf(stream);
    const [leaf] = this.#leaves;
    this.#confirmsLater =
      !options.sync &&
      leaf === stream &&
      streamKindOf(leaf) === 'sonic-boom' &&
      leaf.sync === false;
    const unwatchAll = this.#leaves.map((each) => this.#watch(each));
    this.#unwatch = () => {
      for (const unwatch of unwatchAll) unwatch();
    };
  }

  write(line: string, onLost?: OnLost): LineOutcome {
    if (this.#isMuted) throw new Error('the pino destination ignores writes since its pipe broke');
    for (const leaf of this.#leaves) {
      if (readProperty(leaf, 'destroyed') === true) throw new Error('the stream is destroyed');
      // A write now would destroy it, with lines of the host that are still in its buffer.
      if (readProperty(leaf, 'writableEnded') === true)
        throw new Error('the stream has been ended');
    }
    if (!this.#options.sync && !this.#hasRoomFor(line)) return 'dropped';
    this.#error = undefined;
    this.#hasDropped = false;
    this.#isWriting = true;
    try {
      return this.#write(line, onLost);
    } finally {
      this.#isWriting = false;
    }
  }

  #write(line: string, onLost: OnLost | undefined): LineOutcome {
    const { sync } = this.#options;
    const stream = this.#stream;
    if (!sync && streamKindOf(stream) === 'node') {
      const written = new Promise((resolve, reject) => {
        stream.write(line, (error) => (error ? reject(error) : resolve(undefined)));
      });
      this.#track(line, written, onLost);
      return 'pending';
    }
    if (Reflect.get(stream, WANTS_METADATA) === true) Object.assign(stream, NO_METADATA);
    const result = stream.write(line);
    if (this.#error !== undefined) throw this.#error.cause;
    if (this.#hasDropped && sync)
      throw new Error('the line is above the `maxLength` of the stream');
    if (this.#hasDropped) return 'dropped';
    if (!isPromiseLike(result)) {
      return this.#confirmsLater ? this.#awaitConfirmation(onLost) : 'written';
    }
    if (sync) {
      ignoreRejection(result);
      return 'promised';
    }
    this.#track(line, result, onLost);
    return 'pending';
  }

  /** sonic-boom emits 'drain' when it has written everything, and 'error' when it could not. */
  #awaitConfirmation(onLost: OnLost | undefined): LineOutcome {
    const leaf = this.#leaves[0] as HostStream;
    const keepsBytes = Number(leaf.minLength) > 0;
    // If it wrote synchronously, it has emitted 'drain' already.
    if (Reflect.get(leaf, '_writing') !== true && !keepsBytes) return 'written';
    this.#unconfirmed.push(onLost);
    return 'pending';
  }

  #confirm(settle: (onLost: OnLost | undefined) => void): void {
    const lines = this.#unconfirmed.splice(0);
    if (!this.#isClosed) for (const onLost of lines) settle(onLost);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#pending.keys());
    if (this.#options.sync) return;
    await Promise.all(this.#leaves.map(flushStream));
  }

  close(): readonly (OnLost | undefined)[] {
    this.#isClosed = true;
    const left = [...this.#pending.values(), ...this.#unconfirmed];
    // Pending lines may fail later, which must not crash the host.
    void Promise.all(this.#pending.keys()).then(this.#unwatch);
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

  #track(line: string, written: PromiseLike<unknown>, onLost: OnLost | undefined): void {
    const bytes = streamKindOf(this.#stream) === 'node' ? 0 : Buffer.byteLength(line);
    const { late } = this.#options;
    this.#pendingBytes += bytes;
    const settled = Promise.resolve(written)
      .then(
        () => {
          if (!this.#isClosed) late.written();
        },
        (cause: unknown) => {
          if (!this.#isClosed) late.failed(cause, onLost);
        },
      )
      .finally(() => {
        this.#pendingBytes -= bytes;
        this.#pending.delete(settled);
      });
    this.#pending.set(settled, onLost);
  }

  #watch(leaf: HostStream): () => void {
    if (!isEmitter(leaf)) return () => {};
    const write: unknown = Reflect.get(leaf, 'write');
    const onError = (cause: unknown): void => {
      // After a broken pipe pino.destination replaces its `write` with a function that does nothing.
      if (systemCode(cause) === 'EPIPE' && Reflect.get(leaf, 'write') !== write)
        this.#isMuted = true;
      if (this.#isWriting) this.#error = { cause };
      else if (this.#unconfirmed.length > 0) {
        this.#confirm((onLost) => this.#options.late.failed(cause, onLost));
      } else if (!this.#isClosed) this.#options.late.streamFailed(cause);
    };
    const onDrain = (): void => this.#confirm(() => this.#options.late.written());
    // sonic-boom reports lines above its `maxLength` only with this event.
    const onDrop = (): void => {
      this.#hasDropped = true;
    };
    leaf.on('error', onError);
    leaf.on('drop', onDrop);
    if (this.#confirmsLater) leaf.on('drain', onDrain);
    return () => {
      // Keeps the listeners: after the callback of a failed write Node emits 'error' in a later turn.
      if (readProperty(leaf, 'errored') instanceof Error) return;
      leaf.off?.('error', onError);
      leaf.off?.('drop', onDrop);
      leaf.off?.('drain', onDrain);
    };
  }
}

type Emitter = HostStream & Required<Pick<HostStream, 'on' | 'off'>>;

const isEmitter = (stream: HostStream): stream is Emitter => hasMethods(stream, 'on', 'off');

/**
 * pino.multistream chooses streams by level; a record has none, and the highest number reaches all of
 * them. The other keys clear what the host's last line left.
 */
const NO_METADATA = {
  lastLevel: Number.MAX_SAFE_INTEGER,
  lastObj: undefined,
  lastMsg: undefined,
  lastTime: undefined,
  lastLogger: undefined,
};
