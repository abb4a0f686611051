/** The options of the log writer, checked when it is made. */

import type { Dialect, JsonObject } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
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
  /** Where lines go: see {@link LogDestination}. Default: file descriptor 1, standard output. */
  readonly destination?: LogDestination;
  /** The contract's dialect (D0, D14). Default `'strict'`. */
  readonly dialect?: D;
  /**
   * Attributes of the log platform beside the record (D18): `false` (default) for none, those of
   * `'otel'`, `'datadog'` or `'ecs'`, `'auto'` for those of the tracer that is active, or a function
   * of the record. What it does wrong costs attributes, never the record; `stats()` tells.
   */
  readonly platform?: false | PlatformName | PlatformFunction<WrittenRecord<D>>;
  /**
   * Where the ids of the active span come from, for a named platform: called at each `write`. What
   * it throws, or gives that is no span's ids, counts as no span. Default: OpenTelemetry's and
   * dd-trace's globals, the first that knows of a span.
   */
  readonly activeSpan?: SpanReader;
  /**
   * Whether records are checked against the contract. Default true. With false a record must still
   * be a plain JSON object.
   */
  readonly validate?: boolean;
  /**
   * Default true: a record whose `write` returned is out of the process, whatever ends it. With
   * false lines are written in the background, and those that still wait are lost with the process.
   */
  readonly sync?: boolean;
  /**
   * With `sync: false` alone: how much may wait, in bytes of UTF-8. Lines beyond it are dropped and
   * counted. A positive integer; default 16 MiB. pino destinations and transports, which buffer by
   * themselves, have bounds of their own.
   */
  readonly maxBufferBytes?: number;
}

export interface WriterSettings {
  readonly destination: unknown;
  readonly records: RecordSerializer;
  readonly platform: false | PlatformFunction<JsonObject>;
  /** Returns the attributes; undefined where they depend on the record. */
  readonly attributes: () => Readonly<Record<string, unknown>> | undefined;
  readonly sync: boolean;
  readonly maxBufferBytes: number;
}

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
  } = ownOptions(options);
  expect(typeof validate === 'boolean', 'validate', 'true or false');
  expect(typeof sync === 'boolean', 'sync', 'true or false');
  const isSize = Number.isSafeInteger(maxBufferBytes) && maxBufferBytes > 0;
  expect(isSize, 'maxBufferBytes', 'a positive integer');
  return {
    destination,
    records: recordSerializer(dialect, validate),
    attributes: attributesOf(platform, activeSpan, validate),
    platform: platformOf(platform, activeSpan),
    sync,
    maxBufferBytes,
  };
}

function platformOf(platform: unknown, activeSpan: unknown): false | PlatformFunction<JsonObject> {
  const name = PLATFORMS.find((known) => known === platform);
  const isPlatform = platform === false || name !== undefined || typeof platform === 'function';
  expect(isPlatform, 'platform', `false, ${PLATFORMS.map(quoted).join(', ')} or a function`);
  const isReader = activeSpan === undefined || typeof activeSpan === 'function';
  expect(isReader, 'activeSpan', 'a function');
  if (name !== undefined) return platformPreset(name, activeSpan as SpanReader | undefined);
  return platform as false | PlatformFunction<JsonObject>;
}

function attributesOf(
  platform: unknown,
  read: SpanReader | undefined,
  validate: boolean,
): WriterSettings['attributes'] {
  if (platform === false) return () => NO_ATTRIBUTES;
  const name = PLATFORMS.find((known) => known === platform);
  // A record that nobody checked may have keys with the names of the attributes.
  return name === undefined || !validate ? () => undefined : spanAttributes(name, read);
}

const OPTIONS: ReadonlySet<string> = new Set<keyof LogWriterOptions>([
  'destination',
  'dialect',
  'platform',
  'activeSpan',
  'validate',
  'sync',
  'maxBufferBytes',
]);

function ownOptions<T extends object>(options: T): T {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refusal('expected the options to be an object', []);
  }
  const own = ownProperties(options);
  const unknown = Object.keys(own).find((key) => !OPTIONS.has(key));
  if (unknown === undefined) return own;
  throw refusal(`unknown key ${JSON.stringify(unknown)} in the options`, [unknown]);
}

function expect(isUsable: boolean, option: string, expected: string): void {
  if (!isUsable) throw refusal(`expected ${option} to be ${expected}`, [option]);
}

const quoted = (word: string): string => `'${word}'`;

const refusal = (detail: string, path: readonly string[]): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
