/** The log writer: writes each record as one line of JSON. */
import type { Dialect, JsonObject } from '../contract/index.ts';
import { serializeChecked } from '../contract/serialize.ts';
import { SecurityEventError } from '../errors.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { LineOutcome, LineSink, OnLost } from './line-sink.ts';
import { openSink } from './open-sink.ts';
import { createPinoLine } from './pino-line.ts';
import { NO_ATTRIBUTES } from './platform.ts';
import { RecordValidator, type SerializedRecord, type WritableRecord } from './validate-record.ts';
import {
  type LogWriterStats,
  WriteCounters,
  type WriteReport,
  writeFailed,
} from './write-counters.ts';
import { type LogWriterOptions, readWriterOptions, type WriterSettings } from './writer-options.ts';

/** How long `close` waits for pending lines. */
const CLOSE_DEADLINE_MS = 5000;

export interface LogWriter<D extends Dialect = 'strict'> {
  /**
   * Writes one record as one line. Throws ERR_INVALID_RECORD, ERR_WRITE_FAILED, ERR_WRITER_CLOSED, or
   * ERR_DESTINATION_NOT_SYNCHRONOUS if the destination's `write` returns a promise; each has the
   * record as `input`. With `sync: false` a full buffer drops the record without an error, and a write can
   * fail later; `stats()` counts both.
   */
  write(record: WritableRecord<D>): void;
  /**
   * Waits until all lines so far are written or lost, and synced to disk if the destination is a file.
   * Resolves to the number of records lost since the last report (`sync: false`), and why. Rejects with
   * ERR_WRITE_FAILED if the sync fails.
   */
  flush(): Promise<WriteReport>;
  /**
   * Flushes for at most 5 s, drops lines that are still pending, and closes the destination; the
   * caller's descriptor or stream stays open. Rejects like `flush`; the writer is closed even then.
   */
  close(): Promise<WriteReport>;
  /** Resolves to the current counters. Never rejects. */
  stats(): Promise<LogWriterStats>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a log writer. Throws ERR_INVALID_OPTION, and ERR_DESTINATION_NOT_SYNCHRONOUS if `sync` is
 * true and the destination is known to write later.
 */
export function createLogWriter<D extends Dialect = 'strict'>(
  options: LogWriterOptions<D> = {},
): LogWriter<D> {
  return new RecordWriter<D>(readWriterOptions(options), systemClock);
}

interface RecordToWrite {
  /** The caller's record, for errors. */
  readonly input: object;
  /** Returns a copy for the platform function, which gets it frozen. */
  readonly copy: () => JsonObject;
  readonly onLost?: OnLost | undefined;
}

export class RecordWriter<D extends Dialect> implements LogWriter<D> {
  readonly #settings: WriterSettings;
  readonly #clock: Clock;
  readonly #counters = new WriteCounters();
  readonly #lineOf = createPinoLine();
  readonly #validator: RecordValidator;
  readonly #sink: LineSink;
  /** The flush in progress, which calls of `flush` share until another record is written. */
  #flushing: Promise<WriteReport> | undefined;
  #closing: Promise<WriteReport> | undefined;

  constructor(settings: WriterSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#validator = new RecordValidator(settings.dialect);
    this.#sink = openSink(settings.destination, { ...settings, clock, late: this.#counters });
  }

  write(record: WritableRecord<D>): void {
    this.#checkOpen(record);
    // Not in a method of its own: its frame would take one of the ten that V8 keeps of the host's stack.
    let json: string;
    try {
      ({ json } = this.#validator.serialize(record));
    } catch (cause) {
      this.#counters.count('refused');
      if (cause instanceof SecurityEventError) throw cause;
      const detail = 'reading the record threw';
      throw new SecurityEventError('ERR_INVALID_RECORD', { detail, cause, input: record });
    }
    // The platform gets the record as it was written: the caller's object may have changed.
    this.#writeJson(json, { input: record, copy: () => JSON.parse(json) as JsonObject });
  }

  /**
   * Writes a validated record with its JSON. `record` must be a copy: a platform function gets it frozen.
   * `onLost` is called if the line is lost later (`sync: false`). Throws like `write`, and ERR_WRITE_FAILED if the
   * buffer is full.
   */
  writeSerialized({ json, record }: SerializedRecord, onLost?: OnLost): void {
    this.#checkOpen(record);
    const outcome = this.#writeJson(json, { input: record, copy: () => record, onLost });
    if (outcome !== 'dropped') return;
    const detail = 'the buffer is full';
    throw new SecurityEventError('ERR_WRITE_FAILED', { detail, input: record });
  }

  #checkOpen(input: object): void {
    if (this.#closing === undefined) return;
    this.#counters.count('refused');
    throw new SecurityEventError('ERR_WRITER_CLOSED', { input });
  }

  #writeJson(json: string, { input, copy, onLost }: RecordToWrite): LineOutcome {
    this.#flushing = undefined;
    const line = this.#lineOf(this.#withAttributes(json, copy));
    let outcome: LineOutcome;
    try {
      outcome = this.#sink.write(line, onLost);
    } catch (cause) {
      throw this.#counters.countFailed(writeFailed(cause, input));
    }
    if (outcome !== 'promised') {
      this.#counters.count(outcome, input);
      return outcome;
    }
    const detail = 'its `write` returned a promise';
    throw this.#counters.countFailed(
      new SecurityEventError('ERR_DESTINATION_NOT_SYNCHRONOUS', {
        detail,
        path: ['destination'],
        input,
      }),
    );
  }

  /** Appends the attributes to the JSON. None has the name of a field of the record. */
  #withAttributes(json: string, copy: () => JsonObject): string {
    const { attributes, error } = this.#settings.readAttributes(copy);
    if (error !== undefined) this.#counters.platformFailed(error);
    if (attributes === NO_ATTRIBUTES) return json;
    const added = serializeChecked(attributes);
    return added === '{}' ? json : `${json.slice(0, -1)},${added.slice(1)}`;
  }

  flush(): Promise<WriteReport> {
    if (this.#closing !== undefined) return this.#closing;
    this.#flushing ??= this.#flushSink();
    return this.#flushing;
  }

  async #flushSink(): Promise<WriteReport> {
    await this.#waitForSink();
    return this.#counters.takeReport();
  }

  async #waitForSink(): Promise<void> {
    try {
      await this.#sink.flush();
    } catch (cause) {
      throw this.#counters.flushFailed(cause);
    } finally {
      this.#flushing = undefined;
    }
  }

  close(): Promise<WriteReport> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<WriteReport> {
    const flushed = new AbortController();
    const deadline = this.#clock.sleep(CLOSE_DEADLINE_MS, flushed.signal);
    try {
      await Promise.race([this.#waitForSink(), deadline]);
    } finally {
      flushed.abort();
      this.#counters.dropPending(this.#sink.close());
    }
    return this.#counters.takeReport();
  }

  async stats(): Promise<LogWriterStats> {
    return this.#counters.snapshot();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close() as Promise<unknown> as Promise<void>;
  }
}
