/** How each kind of stream that was lent to the writer is flushed. */
import { readProperty } from '../own-properties.ts';
import { systemCode } from './line-sink.ts';
import { kindOf, type LentStream, type StreamKind } from './stream-kind.ts';

/** fsync was asked of something that has nothing to sync. */
const NOTHING_TO_SYNC: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOTSUP', 'EROFS']);

/** Resolves when a stream has passed on what it holds, as far as its kind can tell. */
export function flushStream(stream: LentStream): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown): void => {
      if (error instanceof Error && !NOTHING_TO_SYNC.has(systemCode(error))) reject(error);
      else resolve();
    };
    FLUSHES[kindOf(stream)](stream, done);
  });
}

type Flush = (stream: LentStream, done: (error?: unknown) => void) => void;

const flushByCallback: Flush = (stream, done) =>
  typeof readProperty(stream, 'flush') === 'function' ? stream.flush?.(done) : done();

/** A fault is an end as well; the listener for faults has told of it. */
function whenWritten(stream: LentStream, event: 'drain' | 'finish', done: () => void): void {
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
    // A write after the end would destroy the stream with what it still holds.
    else if (readProperty(stream, 'writableEnded') === true) whenWritten(stream, 'finish', done);
    // An empty chunk is answered after all that came before it.
    else stream.write('', done);
  },
  'sonic-boom': (stream, done) => {
    if (Number(readProperty(stream, 'minLength')) > 0) flushByCallback(stream, done);
    // Without `minLength` its flush answers at once, whatever is still being written.
    else if (Reflect.get(stream, '_writing') === true) whenWritten(stream, 'drain', done);
    else done();
  },
  worker: flushByCallback,
  plain: (_stream, done) => done(),
};
