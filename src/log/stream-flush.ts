/** Flushes each kind of stream of the host. */
import { readProperty } from '../own-properties.ts';
import { systemCode } from './line-sink.ts';
import { type HostStream, kindOf, type StreamKind } from './stream-kind.ts';

/** Codes of fsync for descriptors that cannot be synced. */
const NOTHING_TO_SYNC: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOTSUP', 'EROFS']);

/** Resolves when a stream has passed on its buffered lines, as far as this kind of stream reports it. */
export function flushStream(stream: HostStream): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown): void => {
      if (error instanceof Error && !NOTHING_TO_SYNC.has(systemCode(error))) reject(error);
      else resolve();
    };
    FLUSHES[kindOf(stream)](stream, done);
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
