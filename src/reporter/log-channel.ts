/** Channel A of a reporter: validates records, writes them, and flushes and closes the log. */
import { isObject } from '../contract/dispatch.ts';
import type { JsonObject } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { RecordValidator, ValidRecord } from '../log/validate-record.ts';
import { writeFailed } from '../log/write-counters.ts';
import type { LogWriter, RecordWriter } from '../log/writer.ts';
import { ownProperties } from '../own-properties.ts';
import { ignoreRejection } from '../runtime/host-calls.ts';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';
import type { ReportedEvent } from './build-record.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** The part of a log writer that a reporter uses. */
export interface Writer extends Pick<LogWriter<'open'>, 'write'> {
  flush(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** What `flush` and `close` report about the log. Messages are flushed even if the log fails. */
export interface LogResult {
  /** Why a line was lost since the last result, or why the log could not be flushed. */
  readonly logError?: SecurityEventError;
}

export type LogOutput =
  | { readonly isOwned: true; readonly writer: RecordWriter<'open'> }
  /** The caller's writer, which the reporter flushes but does not close. */
  | { readonly isOwned: false; readonly writer: Writer };

export interface LogParts {
  readonly output: LogOutput;
  readonly validator: RecordValidator;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
}

export class LogChannel {
  readonly #parts: LogParts;
  /** The latest write error that no result of `flush` or `close` has reported yet. */
  #unreported: SecurityEventError | undefined;
  #isWriting = false;

  constructor(parts: LogParts) {
    this.#parts = parts;
  }

  /** Returns whether a line is being written. An event that this causes, as in a hook of `fs`, would loop. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Returns the written record, or the error, which has been passed to `onRejected`. Never throws. */
  write(event: ReportedEvent): JsonObject | SecurityEventError {
    const { output, validator, counters, rejections } = this.#parts;
    const { draft, shared, call } = event;
    let valid: ValidRecord | undefined;
    this.#isWriting = true;
    try {
      if (output.isOwned) {
        const serialized = validator.serialize(draft, shared?.json);
        valid = serialized;
        output.writer.writeSerialized(serialized, (cause) => this.#lost(event, serialized, cause));
      } else {
        valid = validator.validate(draft);
        writeToHost(output.writer, valid.record);
      }
      counters.written(valid);
      return valid.record;
    } catch (error) {
      // `onRejected` may report events.
      this.#isWriting = false;
      const rejection = wrapHostError(error, 'ERR_INVALID_RECORD');
      if (valid !== undefined) this.#unreported = rejection;
      return rejections.add('log', call, rejection);
    } finally {
      this.#isWriting = false;
    }
  }

  /** Rejects an event whose line was lost after its call (`sync: false`). */
  #lost({ call, draft }: ReportedEvent, valid: ValidRecord, cause: unknown): void {
    const { counters, rejections } = this.#parts;
    counters.written(valid, -1);
    rejections.add('log', call, writeFailed(cause, draft));
  }

  /** Never rejects. Stops waiting one turn after `limit` resolves: a stalled pipe must not hold up the caller. */
  flush(limit: Promise<void>): Promise<LogResult> {
    const { output } = this.#parts;
    return this.#report(output.isOwned ? output.writer.flush() : flushHost(output.writer), limit);
  }

  /** Like `flush`, and closes the reporter's own writer, whose `close` has its own time limit. */
  close(limit: Promise<void>): Promise<LogResult> {
    const { output } = this.#parts;
    return output.isOwned ? this.#report(output.writer.close()) : this.flush(limit);
  }

  async #report(...flushing: Parameters<typeof logResult>): Promise<LogResult> {
    const result = await logResult(...flushing);
    const logError = this.#unreported;
    this.#unreported = undefined;
    return logError === undefined ? result : { logError, ...result };
  }
}

/** The record is a copy, since the writer may change it. */
function writeToHost(writer: Writer, record: JsonObject): void {
  try {
    ignoreRejection(writer.write(record as never));
  } catch (error) {
    throw wrapHostError(error, 'ERR_WRITE_FAILED', { input: record });
  }
}

/** A log writer reports each loss once, so its report must not get lost here. */
async function flushHost(writer: Writer): Promise<{ readonly error?: SecurityEventError }> {
  const report: unknown = await writer.flush();
  const error = isObject(report) ? ownProperties(report)['error'] : undefined;
  return error instanceof Error ? { error: wrapHostError(error, 'ERR_WRITE_FAILED') } : {};
}

async function logResult(
  finished: Promise<{ readonly error?: SecurityEventError }>,
  limit?: Promise<void>,
): Promise<LogResult> {
  // Waits for one more turn of the event loop, so that a log without pending lines can finish.
  const expired = limit?.then(nextTurn).then(() => {
    const detail = 'the log was not flushed before the deadline';
    throw new SecurityEventError('ERR_WRITE_FAILED', { detail });
  });
  try {
    const { error } = await (expired === undefined ? finished : Promise.race([finished, expired]));
    return error === undefined ? {} : { logError: error };
  } catch (error) {
    return { logError: wrapHostError(error, 'ERR_WRITE_FAILED') };
  }
}
