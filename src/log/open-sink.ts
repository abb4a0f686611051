/** Opens the sink for the caller's `destination`. */
import { SecurityEventError } from '../errors.ts';
import { unreadableOption } from '../option-rules.ts';
import { BufferedFileSink } from './buffered-file-sink.ts';
import { LineFile } from './line-file.ts';
import { type LineSink, type SinkOptions, systemCode } from './line-sink.ts';
import {
  type HostStream,
  isStream,
  reasonItWritesLater,
  sortsByLevel,
  streamOfLogger,
} from './stream-kind.ts';
import { StreamSink } from './stream-sink.ts';
import { SyncFileSink } from './sync-file-sink.ts';

/** A pino logger of any version and with any levels, recognised by its shape. */
export interface PinoLogger {
  readonly level: string;
  bindings(): object;
}

/** Anything that accepts one line, line feed included. */
export interface LineStream {
  write(line: string): unknown;
}

/**
 * - a file descriptor; it stays open when the writer is closed
 * - a path; opened for appending when the writer is created, in a folder that must exist
 * - an object whose `write` accepts one line
 * - a pino logger: only its stream is used (no level, redaction, serializer, formatter, mixin or hook)
 */
export type LogDestination = number | string | LineStream | PinoLogger;

const invalidDestination = (detail: string, cause?: unknown): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', {
    detail,
    path: ['destination'],
    ...(cause === undefined ? {} : { cause }),
  });

/** Throws ERR_INVALID_OPTION or ERR_DESTINATION_NOT_SYNCHRONOUS. */
export function openSink(destination: unknown, options: SinkOptions): LineSink {
  if (typeof destination === 'string') return fileSink(openPath(destination), options);
  if (typeof destination === 'number') {
    return fileSink(openDescriptor(destination, options.sync), options);
  }
  try {
    return streamSink(streamOf(destination), options);
  } catch (error) {
    throw error instanceof SecurityEventError ? error : unreadableOption(['destination'], error);
  }
}

function streamSink(stream: HostStream, options: SinkOptions): LineSink {
  const { sync } = options;
  const fd = standardDescriptor(stream);
  if (fd !== undefined) return fileSink(openDescriptor(fd, sync), options);
  if (sortsByLevel(stream)) {
    throw invalidDestination('a pino transport with several targets loses lines without a `level`');
  }
  const reason = sync ? reasonItWritesLater(stream) : undefined;
  if (reason !== undefined) {
    throw new SecurityEventError('ERR_DESTINATION_NOT_SYNCHRONOUS', {
      detail: reason,
      path: ['destination'],
    });
  }
  return new StreamSink(stream, options);
}

const fileSink = (file: LineFile, options: SinkOptions): LineSink =>
  options.sync ? new SyncFileSink(file) : new BufferedFileSink(file, options);

function openPath(path: string): LineFile {
  try {
    return new LineFile(path);
  } catch (cause) {
    const code = String(systemCode(cause));
    throw invalidDestination(
      `cannot open the file ${JSON.stringify(path)} for appending (${code})`,
      cause,
    );
  }
}

function openDescriptor(fd: number, mayBlock: boolean): LineFile {
  try {
    return new LineFile({ fd, mayBlock });
  } catch (cause) {
    throw invalidDestination('expected an open file descriptor', cause);
  }
}

function streamOf(destination: unknown): HostStream {
  const stream =
    typeof destination === 'object' && destination !== null
      ? (streamOfLogger(destination) ?? destination)
      : destination;
  if (isStream(stream)) return stream;
  throw invalidDestination(
    'expected a descriptor, a path, an object with a `write`, or a pino logger',
  );
}

/**
 * Returns the descriptor of process.stdout or process.stderr. If they are pipes, Node's own streams
 * write asynchronously (on POSIX) and report a closed pipe with an 'error' event; writing to the
 * descriptor does neither. If the host has replaced their `write`, they are used like other streams.
 */
function standardDescriptor(stream: HostStream): 1 | 2 | undefined {
  if (!('fd' in stream) || Object.hasOwn(stream, 'write')) return undefined;
  if (stream.fd === 1 && (stream as unknown) === process.stdout) return 1;
  if (stream.fd === 2 && (stream as unknown) === process.stderr) return 2;
  return undefined;
}
