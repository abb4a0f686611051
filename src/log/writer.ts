/** The log writer: writes each record as one line of JSON. */
import { frozen } from '../contract/frozen.ts';
import type { Dialect, JsonObject } from '../contract/index.ts';
import { serializeChecked } from '../contract/serialize.ts';
import { SecurityEventError } from '../errors.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { openSink } from './destination.ts';
import type { LineLost, LineOutcome, LineSink } from './line-sink.ts';
import { createPinoLine } from './pino-line.ts';
import { attributesFor } from './platform.ts';
import { NO_ATTRIBUTES } from './platform-presets.ts';
import type { WritableRecord } from './record-serializer.ts';
import {
  type LogWriterStats,
  WriteCounters,
  type WriteReport,
  writeFailed,
} from './write-counters.ts';
import { type LogWriterOptions, settingsOf, type WriterSettings } from './writer-options.ts';

/** How long `close` waits for pending lines. */
const CLOSE_DEADLINE_MS = 5000;

export interface LogWriter<D extends Dialect = 'strict'> {
  /**
   * Writes one record as one line. Throws ERR_INVALID_RECORD, ERR_WRITE_FAILED, ERR_WRITER_CLOSED, or
   * ERR_DESTINATION_NOT_SYNCHRONOUS if the destination's `write` returns a promise; each has the
   * record as `input`. With `sync: false` a full buffer drops the record without an error; `stats()`
   * counts it, and later failures.
   */
  write(record: WritableRecord<D>): void;
  /**
   * Resolves when all lines so far are written, and synced to disk if the destination is a file.
   * Returns the number of records lost since the last report (`sync: false`), and why. Rejects with
   * ERR_WRITE_FAILED if the sync fails.
   */
  flush(): Promise<WriteReport>;
  /**
   * Flushes for at most 5 s, drops lines that are still pending, and closes the destination; the
   * caller's descriptor or stream stays open. Rejects like `flush`; the writer is closed even then.
   */
  close(): Promise<WriteReport>;
  /** Returns the current counters. */
  stats(): LogWriterStats;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a log writer. Throws ERR_INVALID_OPTION, and ERR_DESTINATION_NOT_SYNCHRONOUS if `sync` is
 * true and the destination is known to write later.
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
  readonly #lineOf = createPinoLine();
  readonly #sink: LineSink;
  /** Covers every record so far. */
  #flushing: Promise<WriteReport> | undefined;
  #closing: Promise<WriteReport> | undefined;

  constructor(settings: WriterSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#sink = openSink({ ...settings, clock, late: this.#counters });
  }

  write(record: WritableRecord<D>): void {
    this.#refuseIfClosed(record);
    const attributes = this.#settings.attributes();
    if (attributes === undefined) {
      const data = this.#counted(() => this.#settings.records.check(record));
      this.#writeText(withAttributes(serializeChecked(data), this.#attributesFor(data)), record);
      return;
    }
    const json = this.#counted(() => this.#settings.records.serialize(record));
    this.#writeText(withAttributes(json, attributes), record);
  }

  /**
   * Writes a validated record, whose JSON is `json`. `record` must be an own copy: it is frozen for a
   * platform function. `lost` is called if the line is lost later (`sync: false`). Throws like `write`.
   */
  writeLine(json: string, record: JsonObject, lost?: LineLost): void {
    this.#refuseIfClosed(record);
    const attributes = this.#settings.attributes() ?? this.#attributesFor(record);
    this.#writeText(withAttributes(json, attributes), record, lost);
  }

  #refuseIfClosed(record: unknown): void {
    if (this.#closing === undefined) return;
    this.#counters.count('refused');
    throw new SecurityEventError('ERR_WRITER_CLOSED', { input: record });
  }

  #counted<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.#counters.count('refused');
      throw error;
    }
  }

  #attributesFor(record: JsonObject): Attributes {
    const { platform } = this.#settings;
    if (platform === false) return NO_ATTRIBUTES;
    // Frozen, so that the function cannot change a validated record.
    const { attributes, fault } = attributesFor(platform, frozen(record));
    if (fault !== undefined) this.#counters.platformFailed(fault);
    return attributes;
  }

  #writeText(json: string, record: unknown, lost?: LineLost): void {
    this.#flushing = undefined;
    let outcome: LineOutcome;
    try {
      outcome = this.#sink.write(this.#lineOf(json), lost);
    } catch (cause) {
      throw this.#lost(writeFailed(cause, record));
    }
    if (outcome !== 'promised') {
      this.#counters.count(outcome, record);
      return;
    }
    const detail = 'its `write` returned a promise';
    const path = ['destination'];
    throw this.#lost(
      new SecurityEventError('ERR_DESTINATION_NOT_SYNCHRONOUS', { detail, path, input: record }),
    );
  }

  #lost(error: SecurityEventError): SecurityEventError {
    this.#counters.lost(error);
    return error;
  }

  flush(): Promise<WriteReport> {
    if (this.#closing !== undefined) return this.#closing;
    this.#flushing ??= this.#flushSink();
    return this.#flushing;
  }

  async #flushSink(): Promise<WriteReport> {
    await this.#settleSink();
    return this.#counters.takeReport();
  }

  async #settleSink(): Promise<void> {
    try {
      await this.#sink.flush();
    } catch (cause) {
      this.#counters.troubled(cause);
      this.#counters.takeReport();
      throw writeFailed(cause);
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
      await Promise.race([this.#settleSink(), deadline]);
    } finally {
      flushed.abort();
      this.#counters.abandoned(this.#sink.close());
    }
    return this.#counters.takeReport();
  }

  stats(): LogWriterStats {
    return this.#counters.snapshot();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close() as Promise<unknown> as Promise<void>;
  }
}

type Attributes = Readonly<Record<string, unknown>>;

/** `attributes` has no key of the record. */
function withAttributes(json: string, attributes: Attributes): string {
  if (attributes === NO_ATTRIBUTES) return json;
  const added = serializeChecked(attributes as JsonObject);
  if (added === '{}') return json;
  return json === '{}' ? added : `${json.slice(0, -1)},${added.slice(1)}`;
}
