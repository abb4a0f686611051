/** Every option of `createLogWriter`: one row gives its type, range, default and documentation. */
import type { Dialect, JsonObject } from '../contract/index.ts';
import {
  A_FUNCTION,
  checkedElsewhere,
  integer,
  type OptionsOf,
  oneOf,
  option,
  optional,
  readOptions,
  usable,
} from '../option-rules.ts';
import type { SpanReader } from './active-span.ts';
import type { LogDestination } from './open-sink.ts';
import { createAttributeReader, type PlatformFunction } from './platform.ts';
import { PLATFORMS, type PlatformName, platformPreset } from './platform-presets.ts';
import type { WrittenRecord } from './validate-record.ts';

const isPlatformName = (value: unknown): value is PlatformName =>
  PLATFORMS.some((name) => name === value);

type Platform<D extends Dialect> = false | PlatformName | PlatformFunction<WrittenRecord<D>>;

export const LOG_WRITER_OPTIONS = {
  /** Where lines are written: see `LogDestination`. Default `1`, standard output. */
  destination: option<LogDestination>(
    checkedElsewhere('a file descriptor, a path, an object with `write(line)`, or a pino logger'),
    1,
    '`1`, standard output',
  ),
  /** The contract's dialect. `'open'` also accepts unknown words of vocabularies, and IPv6. Default `'strict'`. */
  dialect: option<Dialect>(oneOf('strict', 'open'), 'strict'),
  /**
   * Attributes of the log platform in each line: of a named platform, of the active tracer (`'auto'`), or from a
   * function of the record. If that fails, the record is written without them and `stats()` counts it. Default
   * `false`.
   */
  platform: option<Platform<Dialect>>(
    usable(
      `false, ${PLATFORMS.map((name) => `'${name}'`).join(', ')} or a function`,
      (value) => value === false || isPlatformName(value) || typeof value === 'function',
    ),
    false,
  ),
  /**
   * Returns the ids of the active span, for a named platform. Called at each `write`; errors and invalid ids count
   * as no span. Default the globals of OpenTelemetry, then of dd-trace.
   */
  activeSpan: optional<SpanReader>(A_FUNCTION, 'the globals of OpenTelemetry, then of dd-trace'),
  /**
   * Whether each line is written before `write` returns, so that it survives a crash. With `false` lines are
   * written in the background; a crash loses the pending ones. Default `true`.
   */
  sync: option<boolean>(oneOf(true, false), true),
  /**
   * Maximum size of pending lines with `sync: false`, in bytes of UTF-8. Lines beyond it are dropped and counted.
   * pino destinations and transports have their own buffers instead. 1 to 9007199254740991; default
   * 16777216.
   */
  maxBufferBytes: option<number>(integer(1, Number.MAX_SAFE_INTEGER), 16 * 1024 * 1024),
};

export interface LogWriterOptions<D extends Dialect = 'strict'>
  extends OptionsOf<typeof LOG_WRITER_OPTIONS, { dialect: D; platform: Platform<D> }> {}

export type WriterSettings = ReturnType<typeof readWriterOptions>;

/** Throws ERR_INVALID_OPTION. */
export function readWriterOptions<D extends Dialect>(options: LogWriterOptions<D>) {
  const { platform, activeSpan, ...settings } = readOptions(options, LOG_WRITER_OPTIONS);
  const readAttributes = isPlatformName(platform)
    ? platformPreset(platform, activeSpan)
    : createAttributeReader(platform as false | PlatformFunction<JsonObject>);
  return { ...settings, readAttributes };
}
