/** The options of the log writer, validated when it is created. */
import type { Dialect, JsonObject } from '../contract/index.ts';
import { A_FUNCTION, ANYTHING, check, oneOf, type Rules, usable } from '../option-rules.ts';
import type { SpanReader } from './active-span.ts';
import type { LogDestination } from './destination.ts';
import type { PlatformFunction } from './platform.ts';
import {
  NO_ATTRIBUTES,
  PLATFORMS,
  type PlatformName,
  platformPreset,
  spanAttributes,
} from './platform-presets.ts';
import {
  type RecordSerializer,
  recordSerializer,
  type WrittenRecord,
} from './record-serializer.ts';

const DEFAULT_MAX_BUFFER_BYTES = 16 * 1024 * 1024;

export interface LogWriterOptions<D extends Dialect = 'strict'> {
  /** Where lines are written: see {@link LogDestination}. Default: file descriptor 1, standard output. */
  readonly destination?: LogDestination;
  /** The contract's dialect. Default `'strict'`. */
  readonly dialect?: D;
  /**
   * Adds attributes of the log platform to each line: `false` (default), `'otel'`, `'datadog'`,
   * `'ecs'`, `'auto'` for the active tracer, or a function of the record. If it fails, the record is
   * written without them and `stats()` counts it.
   */
  readonly platform?: false | PlatformName | PlatformFunction<WrittenRecord<D>>;
  /**
   * Returns the ids of the active span, for a named platform. Called at each `write`; errors and
   * invalid ids count as no span. Default: reads OpenTelemetry's, then dd-trace's globals.
   */
  readonly activeSpan?: SpanReader;
  /** Validates records against the contract. Default true. With false any plain JSON object is accepted. */
  readonly validate?: boolean;
  /**
   * Writes each line before `write` returns, so that it survives a crash. Default true. With false
   * lines are written in the background; a crash loses the pending ones.
   */
  readonly sync?: boolean;
  /**
   * Maximum size of pending lines with `sync: false`, in bytes of UTF-8. Lines beyond it are dropped
   * and counted. A positive integer; default 16 MiB. Does not limit pino destinations and transports,
   * which have their own buffers.
   */
  readonly maxBufferBytes?: number;
}

export interface WriterSettings {
  readonly destination: unknown;
  readonly records: RecordSerializer;
  readonly platform: false | PlatformFunction<JsonObject>;
  /** Returns the attributes, or undefined if they depend on the record. */
  readonly attributes: () => Readonly<Record<string, unknown>> | undefined;
  readonly sync: boolean;
  readonly maxBufferBytes: number;
}

const isPlatformName = (value: unknown): value is PlatformName =>
  PLATFORMS.some((name) => name === value);

const RULES: Rules<keyof LogWriterOptions> = {
  destination: ANYTHING,
  dialect: ANYTHING,
  platform: usable(
    `false, ${PLATFORMS.map((name) => `'${name}'`).join(', ')} or a function`,
    (value) => value === false || isPlatformName(value) || typeof value === 'function',
  ),
  activeSpan: A_FUNCTION,
  validate: oneOf(true, false),
  sync: oneOf(true, false),
  maxBufferBytes: usable(
    'a positive integer',
    (value) => Number.isSafeInteger(value) && (value as number) > 0,
  ),
};

/** Throws ERR_INVALID_OPTION. */
export function settingsOf<D extends Dialect>(options: LogWriterOptions<D>): WriterSettings {
  const {
    destination = 1,
    dialect = 'strict',
    platform = false,
    activeSpan,
    validate = true,
    sync = true,
    maxBufferBytes = DEFAULT_MAX_BUFFER_BYTES,
  } = check<LogWriterOptions<D>>(options, RULES);
  return {
    destination,
    records: recordSerializer(dialect, validate),
    attributes: attributesOf(platform, activeSpan, validate),
    platform: isPlatformName(platform)
      ? platformPreset(platform, activeSpan)
      : (platform as false | PlatformFunction<JsonObject>),
    sync,
    maxBufferBytes,
  };
}

function attributesOf(
  platform: unknown,
  read: SpanReader | undefined,
  validate: boolean,
): WriterSettings['attributes'] {
  if (platform === false) return () => NO_ATTRIBUTES;
  // A record that is not validated may have keys with the names of the attributes.
  return isPlatformName(platform) && validate ? spanAttributes(platform, read) : () => undefined;
}
