/**
 * What a stream that was lent to the writer is, told by its shape: a host may have another copy of
 * pino, sonic-boom or thread-stream than ours, so `instanceof` would not know them.
 */
import { readProperty } from '../own-properties.ts';

/** Anything with a `write`; what else it has decides its {@link StreamKind}. */
export interface LentStream {
  write(line: string, written?: (error?: unknown) => void): unknown;
  readonly on?: (event: string, listener: (argument: unknown) => void) => unknown;
  readonly off?: (event: string, listener: (argument: unknown) => void) => unknown;
  readonly flush?: (done: (error?: unknown) => void) => void;
  readonly flushSync?: unknown;
  readonly destroyed?: unknown;
  readonly errored?: unknown;
  readonly sync?: unknown;
  readonly minLength?: unknown;
  readonly streams?: unknown;
  readonly writableEnded?: unknown;
  readonly writableLength?: unknown;
}

export type StreamKind =
  /** a node:stream Writable (file stream, socket, process.stdout) */
  | 'node'
  /** sonic-boom, what `pino.destination` makes */
  | 'sonic-boom'
  /** thread-stream, what `pino.transport` makes */
  | 'worker'
  /** any other object with a `write` */
  | 'plain';

export function kindOf(stream: LentStream): StreamKind {
  if (typeof readProperty(stream, 'writableLength') === 'number') return 'node';
  if (typeof readProperty(stream, 'flushSync') !== 'function') return 'plain';
  return typeof readProperty(stream, 'sync') === 'boolean' ? 'sonic-boom' : 'worker';
}

export const isStream = (value: unknown): value is LentStream =>
  typeof value === 'object' && value !== null && typeof readProperty(value, 'write') === 'function';

/** The streams behind `pino.multistream`, or the stream itself. */
export function leavesOf(stream: LentStream): LentStream[] {
  const streams = readProperty(stream, 'streams');
  if (!Array.isArray(streams)) return [stream];
  return streams
    .map((entry: { readonly stream?: unknown }) => entry.stream)
    .filter(isStream)
    .flatMap(leavesOf);
}

/** Why a stream does not write before its `write` returns; undefined where it does. */
export function reasonItWritesLater(stream: LentStream): string | undefined {
  for (const leaf of leavesOf(stream)) {
    const reason = REASONS[kindOf(leaf)](leaf);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const REASONS: Readonly<Record<StreamKind, (stream: LentStream) => string | undefined>> = {
  node: () => 'a node:stream Writable queues what it is given',
  'sonic-boom': (stream) => {
    // pino() and pino.destination() are asynchronous unless they are told otherwise.
    if (readProperty(stream, 'sync') !== true)
      return 'the pino destination was not made with `sync: true`';
    const keepsBytes = Number(readProperty(stream, 'minLength')) > 0;
    return keepsBytes ? 'the pino destination keeps `minLength` bytes back' : undefined;
  },
  worker: () => 'a pino transport writes in a worker thread',
  plain: () => undefined,
};

/**
 * The stream of a pino logger, whichever copy of pino made it; undefined for anything else. The
 * symbol is private to each copy, and children inherit it from their parent.
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

/** True for a transport whose worker sorts lines by their `level`, which a record has not. */
export const sortsByLevel = (stream: LentStream): boolean =>
  leavesOf(stream).some((leaf) => Reflect.get(leaf, TRANSPORT_SORTS_BY_LEVEL) === true);

// Registered symbols of pino's, the same in every copy.
const TRANSPORT_SORTS_BY_LEVEL = Symbol.for('pino.transport.usesMultistream');
export const WANTS_METADATA = Symbol.for('pino.metadata');
