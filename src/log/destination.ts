/** Where log lines go: from the caller's `destination` to the sink that writes there. */
import { SecurityEventError } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { BufferedDestination } from './buffered-destination.ts';
import { LentDestination } from './lent-destination.ts';
import { LineFile } from './line-file.ts';
import { type LateOutcomes, type LineSink, systemCode } from './line-sink.ts';
import {
  isStream,
  type LentStream,
  reasonItWritesLater,
  sortsByLevel,
  streamOfLogger,
} from './stream-kind.ts';
import { SyncDestination } from './sync-destination.ts';

/** A pino logger, of any version and with any levels of its own, told by its shape. */
export interface PinoLogger {
  readonly level: string;
  bindings(): object;
}

/** Anything that takes one line, line feed included. */
export interface LineStream {
  write(line: string): unknown;
}

/**
 * - a file descriptor; it stays open when the writer is closed
 * - a path; opened for append when the writer is made, in a folder that must exist
 * - an object whose `write` takes one line
 * - a pino logger: its stream is used, and nothing else of it (no level, redaction, serializer,
 *   formatter, mixin or hook)
 */
export type LogDestination = number | string | LineStream | PinoLogger;

export interface SinkOptions {
  readonly destination: unknown;
  readonly sync: boolean;
  readonly maxBufferBytes: number;
  readonly clock: Clock;
  readonly late: LateOutcomes;
}

const refuse = (detail: string, cause?: unknown): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', {
    detail,
    path: ['destination'],
    ...(cause === undefined ? {} : { cause }),
  });

/** Throws ERR_INVALID_OPTION or ERR_DESTINATION_NOT_SYNCHRONOUS. */
export function openSink(options: SinkOptions): LineSink {
  const { destination, sync } = options;
  if (typeof destination === 'string') return fileSink(openPath(destination), options);
  if (typeof destination === 'number') {
    return fileSink(takeDescriptor(destination, sync), options);
  }
  const stream = streamOf(destination);
  const standard = standardDescriptor(stream);
  if (standard !== undefined) return fileSink(takeDescriptor(standard, sync), options);
  if (sortsByLevel(stream)) {
    throw refuse('a pino transport with several targets loses lines without a `level`');
  }
  const reason = sync ? reasonItWritesLater(stream) : undefined;
  if (reason !== undefined) {
    throw new SecurityEventError('ERR_DESTINATION_NOT_SYNCHRONOUS', {
      detail: reason,
      path: ['destination'],
    });
  }
  return new LentDestination({ ...options, stream });
}

const fileSink = (file: LineFile, { sync, maxBufferBytes, clock, late }: SinkOptions): LineSink =>
  sync ? new SyncDestination(file) : new BufferedDestination({ file, maxBufferBytes, clock, late });

function openPath(path: string): LineFile {
  try {
    return new LineFile(path);
  } catch (cause) {
    throw refuse(`the file could not be opened for append (${String(systemCode(cause))})`, cause);
  }
}

function takeDescriptor(fd: number, mayBlock: boolean): LineFile {
  try {
    return new LineFile({ fd, mayBlock });
  } catch (cause) {
    throw refuse('expected an open file descriptor', cause);
  }
}

function streamOf(destination: unknown): LentStream {
  const lent =
    typeof destination === 'object' && destination !== null
      ? (streamOfLogger(destination) ?? destination)
      : destination;
  if (isStream(lent)) return lent;
  throw refuse('expected a descriptor, a path, an object with a `write`, or a pino logger');
}

/**
 * The descriptor behind process.stdout or process.stderr. Node writes to them synchronously where
 * they are files or (on POSIX) terminals, but not where they are pipes there, and tells of a closed
 * pipe by an 'error' event. Writing to the descriptor has neither fault. Where the host has
 * replaced their `write`, to capture output, they are judged like any other stream.
 */
function standardDescriptor(stream: LentStream): 1 | 2 | undefined {
  if (!('fd' in stream) || Object.hasOwn(stream, 'write')) return undefined;
  if (stream.fd === 1 && (stream as unknown) === process.stdout) return 1;
  if (stream.fd === 2 && (stream as unknown) === process.stderr) return 2;
  return undefined;
}
