/**
 * Recognises the host's streams by their shape, and flushes each kind. The host may have other copies of
 * pino, sonic-boom or thread-stream, so `instanceof` does not work.
 */
import { hasMethods, readProperty } from '../own-properties.ts';
import { systemCode } from './line-sink.ts';

/** Anything with a `write`; other properties show its {@link StreamKind} and its state. */
export interface HostStream {
  write(line: string, written?: (error?: unknown) => void): unknown;
  readonly on?: (event: string, listener: (argument: unknown) => void) => unknown;
  readonly off?: (event: string, listener: (argument: unknown) => void) => unknown;
  readonly flush?: (done: (error?: unknown) => void) => void;
  readonly sync?: unknown;
  readonly minLength?: unknown;
}

export type StreamKind =
  /** a node:stream Writable (file stream, socket, process.stdout) */
  | 'node'
  /** sonic-boom, from `pino.destination` */
  | 'sonic-boom'
  /** thread-stream, from `pino.transport` */
  | 'worker'
  /** any other object with a `write` */
  | 'plain';

export function streamKindOf(stream: HostStream): StreamKind {
  if (typeof readProperty(stream, 'writableLength') === 'number') return 'node';
  if (typeof readProperty(stream, 'flushSync') !== 'function') return 'plain';
  return typeof readProperty(stream, 'sync') === 'boolean' ? 'sonic-boom' : 'worker';
}

export const isStream = (value: unknown): value is HostStream => hasMethods(value, 'write');

/** Returns the streams of a `pino.multistream`, or the stream itself. */
export function leavesOf(stream: HostStream): HostStream[] {
  const streams = readProperty(stream, 'streams');
  if (!Array.isArray(streams)) return [stream];
  return streams
    .map((entry: { readonly stream?: unknown }) => entry.stream)
    .filter(isStream)
    .flatMap(leavesOf);
}

/** Returns why a stream writes after its `write` has returned, or undefined if it does not. */
export function reasonItWritesLater(stream: HostStream): string | undefined {
  for (const leaf of leavesOf(stream)) {
    const reason = REASONS[streamKindOf(leaf)](leaf);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const REASONS: Readonly<Record<StreamKind, (stream: HostStream) => string | undefined>> = {
  node: () => 'a node:stream Writable queues lines',
  'sonic-boom': (stream) => {
    // pino() and pino.destination() are asynchronous by default.
    if (readProperty(stream, 'sync') !== true)
      return 'the pino destination was not made with `sync: true`';
    const keepsBytes = Number(readProperty(stream, 'minLength')) > 0;
    return keepsBytes ? 'the pino destination keeps `minLength` bytes back' : undefined;
  },
  worker: () => 'a pino transport writes in a worker thread',
  plain: () => undefined,
};

/**
 * Returns the stream of a pino logger, or undefined for anything else. Each copy of pino has its own
 * symbol for it, which child loggers inherit.
 */
export function streamOfLogger(value: object): unknown {
  let owner: object | null = value;
  while (owner !== null) {
    const symbol = Object.getOwnPropertySymbols(owner).find(
      ({ description }) => description === 'pino.stream',
    );
    if (symbol !== undefined) return (value as Readonly<Record<symbol, unknown>>)[symbol];
    owner = Object.getPrototypeOf(owner) as object | null;
  }
  return undefined;
}

/** Returns whether a transport's worker sorts lines by their `level`, which records do not have. */
export const sortsByLevel = (stream: HostStream): boolean =>
  leavesOf(stream).some((leaf) => Reflect.get(leaf, TRANSPORT_SORTS_BY_LEVEL) === true);

// pino's registered symbols, the same in every copy.
const TRANSPORT_SORTS_BY_LEVEL = Symbol.for('pino.transport.usesMultistream');
export const WANTS_METADATA = Symbol.for('pino.metadata');

/** Codes of fsync for descriptors that cannot be synced. Node's permission model forbids every fsync. */
const UNSYNCABLE_CODES: ReadonlySet<string | undefined> = new Set([
  'EINVAL',
  'ENOTSUP',
  'EROFS',
  'ERR_ACCESS_DENIED',
]);

/** Resolves when a stream has passed on its buffered lines, as far as this kind of stream reports it. */
export function flushStream(stream: HostStream): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown): void => {
      if (error instanceof Error && !UNSYNCABLE_CODES.has(systemCode(error))) reject(error);
      else resolve();
    };
    FLUSHES[streamKindOf(stream)](stream, done);
  });
}

type Flush = (stream: HostStream, done: (error?: unknown) => void) => void;

const flushByCallback: Flush = (stream, done) =>
  typeof readProperty(stream, 'flush') === 'function' ? stream.flush?.(done) : done();

/** Also ends on an error, which the error listener reports. */
function whenWritten(stream: HostStream, event: 'drain' | 'finish', done: () => void): void {
  const finish = (): void => {
    for (const name of [event, 'error', 'close']) stream.off?.(name, finish);
    done();
  };
  for (const name of [event, 'error', 'close']) stream.on?.(name, finish);
}

const FLUSHES: Readonly<Record<StreamKind, Flush>> = {
  node: (stream, done) => {
    if (
      Number(readProperty(stream, 'writableLength')) === 0 ||
      readProperty(stream, 'destroyed') === true
    )
      done();
    // A write after the end would destroy the stream and its buffer.
    else if (readProperty(stream, 'writableEnded') === true) whenWritten(stream, 'finish', done);
    // The callback of an empty chunk is called after all earlier chunks.
    else stream.write('', done);
  },
  'sonic-boom': (stream, done) => {
    if (Number(readProperty(stream, 'minLength')) > 0) flushByCallback(stream, done);
    // Without `minLength` its flush calls back at once, even during a write.
    else if (Reflect.get(stream, '_writing') === true) whenWritten(stream, 'drain', done);
    else done();
  },
  worker: flushByCallback,
  plain: (_stream, done) => done(),
};
