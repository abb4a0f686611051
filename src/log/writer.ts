/**
 * The channel A writer: one record, one line of JSON, handed to the operating system before
 * `write` returns. The only file that imports pino.
 */
import { pino } from 'pino';
import { frozen } from '../contract/frozen.ts';
import type { Dialect, JsonObject } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { openSink } from './destination.ts';
import type { LineOutcome, LineSink } from './line-sink.ts';
import { isPolluted, lineAround, literal, UNSET_OPTIONS, withoutFirstComma } from './literal.ts';
import { attributesFor } from './platform.ts';
import { NO_ATTRIBUTES } from './platform-presets.ts';
import type { WritableRecord } from './record-check.ts';
import { type LogWriterStats, WriteCounters, writeFailed } from './write-counters.ts';
import { type LogWriterOptions, settingsOf, type WriterSettings } from './writer-options.ts';

/** How long `close` waits for lines that still wait. */
const CLOSE_DEADLINE_MS = 5000;

export interface LogWriter<D extends Dialect = 'strict'> {
  /**
   * Writes one record as one line. Throws ERR_INVALID_RECORD, ERR_WRITE_FAILED or
   * ERR_WRITER_CLOSED, and ERR_DESTINATION_NOT_SYNCHRONOUS where the `write` of the destination
   * answers with a promise; each has the record as `input`. With `sync: false` a full buffer drops
   * the record without an error, and later failures are told by `stats()`.
   */
  write(record: WritableRecord<D>): void;
  /**
   * Resolves when everything written so far has been handed over or has failed, and is synced to
   * the disk where the destination is a path or a descriptor of a file. Rejects with
   * ERR_WRITE_FAILED where the sync fails.
   */
  flush(): Promise<void>;
  /**
   * Flushes for at most 5 s, drops what still waits, and lets the destination go; a descriptor or
   * stream of the caller's stays open. Rejects like `flush`, and the writer is closed all the same.
   */
  close(): Promise<void>;
  /** The counters as they are now. */
  stats(): LogWriterStats;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Makes a writer for channel A. Throws ERR_INVALID_OPTION, and ERR_DESTINATION_NOT_SYNCHRONOUS
 * where `sync` is true and the destination is known to write later.
 */
export function createLogWriter<D extends Dialect = 'strict'>(
  options: LogWriterOptions<D> = {},
): LogWriter<D> {
  return new RecordWriter<D>(settingsOf(options), systemClock);
}

export class RecordWriter<D extends Dialect> implements LogWriter<D> {
  readonly #settings: WriterSettings;
  readonly #clock: Clock;
  readonly #counters = new WriteCounters();
  readonly #serialise = createSerialiser();
  readonly #sink: LineSink;
  /** A flush that covers every record so far. */
  #flushing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: WriterSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#sink = openSink({ ...settings, clock, late: this.#counters });
  }

  write(record: WritableRecord<D>): void {
    this.#finish(this.#textOf(record) ?? this.#withAttributes(this.#accept(record)), record);
  }

  /** A record that was checked, as its JSON. Throws like `write`. */
  writeText(text: string): void {
    const given = this.#attributes();
    const line = given && this.#textWith(text, given);
    if (line !== undefined) this.#finish(line, text);
    else this.#finish(this.#withAttributes(this.#accept(JSON.parse(text))), text);
  }

  /** `given`: the record, or its JSON. */
  #finish(line: JsonObject | string, given: unknown): void {
    this.#flushing = undefined;
    const outcome = this.#hand(line, given);
    if (outcome !== 'promised') {
      this.#counters.count(outcome);
      return;
    }
    throw this.#lost(
      new SecurityEventError('ERR_DESTINATION_NOT_SYNCHRONOUS', {
        detail: 'its `write` answered with a promise',
        path: ['destination'],
        input: recordOf(given),
      }),
    );
  }

  /** The quick way, for a record that is as it should be. */
  #textOf(record: unknown): string | undefined {
    const textOf = this.#settings.text;
    // First of all: where they are of the record, its text would be made for nothing.
    const given = textOf && this.#attributes();
    if (textOf === undefined || given === undefined) return undefined;
    const text = textOf(record);
    return text === undefined ? undefined : this.#textWith(text, given);
  }

  /** Nothing where a platform has to be shown the record, or the writer refuses it. */
  #attributes(): Attributes | undefined {
    return this.#closing === undefined ? this.#settings.attributes() : undefined;
  }

  #textWith(text: string, given: Attributes): string | undefined {
    return given === NO_ATTRIBUTES ? text : textWith(text, given);
  }

  #accept(record: unknown): JsonObject {
    try {
      if (this.#closing === undefined) return this.#settings.check(record);
      throw new SecurityEventError('ERR_WRITER_CLOSED', { input: record });
    } catch (error) {
      this.#counters.count('refused');
      throw error;
    }
  }

  #withAttributes(record: JsonObject): JsonObject {
    const { platform } = this.#settings;
    if (platform === false) return record;
    // What was validated is what is written: the function may keep the record, not change it.
    const { attributes, fault } = attributesFor(platform, frozen(record));
    if (fault !== undefined) this.#counters.platformFailed(fault);
    return { ...record, ...attributes };
  }

  #hand(line: JsonObject | string, given: unknown): LineOutcome {
    try {
      return this.#sink.write(this.#serialise(line));
    } catch (cause) {
      throw this.#lost(writeFailed(cause, recordOf(given)));
    }
  }

  #lost(error: SecurityEventError): SecurityEventError {
    this.#counters.lost(error);
    return error;
  }

  flush(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing;
    this.#flushing ??= this.#flushSink();
    return this.#flushing;
  }

  async #flushSink(): Promise<void> {
    try {
      await this.#sink.flush();
    } catch (cause) {
      this.#counters.troubled(cause);
      throw writeFailed(cause);
    } finally {
      this.#flushing = undefined;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const flushed = new AbortController();
    const deadline = this.#clock.sleep(CLOSE_DEADLINE_MS, flushed.signal);
    try {
      await Promise.race([this.#flushSink(), deadline]);
    } finally {
      flushed.abort();
      this.#counters.abandoned(this.#sink.close());
    }
  }

  stats(): LogWriterStats {
    return this.#counters.snapshot();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

type Attributes = Readonly<Record<string, unknown>>;

/** No record is a text. */
const recordOf = (given: unknown): unknown =>
  typeof given === 'string' ? (JSON.parse(given) as unknown) : given;

/** They are ours, and have the names of no field of a record. */
function textWith(text: string, given: Attributes): string | undefined {
  const { attributes, fault } = attributesFor(() => given, {});
  // JSON.stringify would ask a polluted prototype.
  if (fault !== undefined || isPolluted()) return undefined;
  const more = JSON.stringify(attributes);
  return more === '{}' ? text : `${text.slice(0, -1)},${more.slice(1)}`;
}

/**
 * A private pino that makes the line and nothing else: no level, time, pid, host name or message.
 *
 * The record is its call object, not a child's bindings, so that keys which a tracer injects into
 * every pino (a mixin) and our own attributes never stand in one line twice. `errorKey` is a key
 * that no line has, and `err` is serialised like any other: pino treats both specially.
 */
function createSerialiser(): (record: JsonObject | string) => string {
  let line = '';
  let finished: string | undefined;
  const finish = (made: string): string =>
    finished === undefined ? withoutFirstComma(made) : lineAround(finished, made);
  const logger = pino(
    {
      base: null,
      timestamp: false,
      errorKey: '',
      serializers: { err: (value: unknown) => value },
      // Nothing here may be inherited: literal.ts says why.
      formatters: { level: () => ({ __proto__: null }), log: (object) => object },
      hooks: { __proto__: null, streamWrite: finish } as object,
      ...UNSET_OPTIONS,
    },
    {
      write: (text: string) => {
        line = text;
      },
    },
  );
  return (record) => {
    // A tracer's hook may write a record of its own meanwhile: this one's text is not to be lost to it.
    const outer = { line, finished };
    // Never the line before it, should a tracer's changes to pino keep this one back.
    line = '';
    // A text that is finished goes around pino's own serialising, not around its streams and mixins.
    finished = typeof record === 'string' && !isPolluted() ? record : undefined;
    try {
      if (finished !== undefined) logger.info({});
      else
        logger.info(
          literal(typeof record === 'string' ? (JSON.parse(record) as JsonObject) : record),
        );
      if (line === '') throw new Error('pino made no line');
      return line;
    } finally {
      // Nor is it kept until the next one: a large record may be a hundred megabytes.
      ({ line, finished } = outer);
    }
  };
}
