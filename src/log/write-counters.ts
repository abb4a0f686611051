/** Counts the records of a log writer by result. */
import { SecurityEventError } from '../errors.ts';
import { DiagnosticsChannel } from '../runtime/diagnostics.ts';
import { type LateOutcomes, type OnLost, systemCode } from './line-sink.ts';

/** Calls of `write` = `written` + `pending` + `failed` + `refused` + `dropped`. */
export interface LogWriterStats {
  /** Passed to the operating system, or to the host's stream. */
  readonly written: number;
  /** Waiting to be written; always 0 when synchronous. */
  readonly pending: number;
  /** Lost because of an error of the destination. */
  readonly failed: number;
  /** Not written: the record breaks the contract, or the writer was closed. */
  readonly refused: number;
  /** Lost: the buffer was full, or `close` reached its deadline. */
  readonly dropped: number;
  /** Records written without some attributes, because the platform function failed. */
  readonly platformFailures: number;
  /** The latest error of the destination. */
  readonly lastError: SecurityEventError | undefined;
  /** The latest error of the platform function. */
  readonly lastPlatformError: Error | undefined;
}

/** What `flush` and `close` report. */
export interface WriteReport {
  /**
   * Records lost since the last report, although `write` returned: with `sync: false`, because of an error of the
   * destination, a full buffer, or the deadline of `close`. Always 0 with `sync: true`.
   */
  readonly lost: number;
  /** The latest error since the last report, if there was one. */
  readonly error?: SecurityEventError;
}

/** Returns ERR_WRITE_FAILED with the cause's system code, if it has one. */
export function writeFailed(cause: unknown, input?: unknown): SecurityEventError {
  const code = systemCode(cause);
  return new SecurityEventError('ERR_WRITE_FAILED', {
    ...(code === undefined ? {} : { detail: code }),
    cause,
    input,
  });
}

/** Events of diagnostics channels; each channel is named `security-event-delivery:` and the key. */
export interface LogEvents {
  /** A record was written or, with `sync: false`, accepted: it may still be lost. */
  readonly 'record-written': { readonly event_name: string };
  /** Records were not written; the reasons are those of {@link LogWriterStats}. */
  readonly 'record-lost': {
    readonly reason: 'failed' | 'refused' | 'dropped';
    readonly count: number;
  };
}

export class WriteCounters implements LateOutcomes {
  readonly #writtenChannel = new DiagnosticsChannel<LogEvents['record-written']>('record-written');
  readonly #lostChannel = new DiagnosticsChannel<LogEvents['record-lost']>('record-lost');
  readonly #stats: { -readonly [Key in keyof LogWriterStats]: LogWriterStats[Key] } = {
    written: 0,
    pending: 0,
    failed: 0,
    refused: 0,
    dropped: 0,
    platformFailures: 0,
    lastError: undefined,
    lastPlatformError: undefined,
  };

  /** Number of lost records since the last report. */
  #unreportedLosses = 0;
  /** The latest cause since the last report. */
  #unreportedError: { readonly cause: unknown } | undefined;

  count(outcome: 'written' | 'pending' | 'refused' | 'dropped', record?: unknown): void {
    this.#stats[outcome] += 1;
    if (outcome === 'dropped') this.#unreportedLosses += 1;
    if (outcome === 'refused' || outcome === 'dropped') this.#publishLost(outcome, 1);
    else if (this.#writtenChannel.isWanted) this.#writtenChannel.publish(writtenEvent(record));
  }

  #publishLost(reason: LogEvents['record-lost']['reason'], count: number): void {
    if (count > 0 && this.#lostChannel.isWanted) this.#lostChannel.publish({ reason, count });
  }

  /** Returns the losses since the last report, and starts the next. */
  takeReport(): WriteReport {
    const [lost, unreported] = [this.#unreportedLosses, this.#unreportedError];
    this.#unreportedLosses = 0;
    this.#unreportedError = undefined;
    if (unreported !== undefined) return { lost, error: writeFailed(unreported.cause) };
    if (lost === 0) return { lost };
    const detail = 'the buffer was full, or `close` could not wait longer';
    return { lost, error: new SecurityEventError('ERR_WRITE_FAILED', { detail }) };
  }

  written(): void {
    this.#stats.pending -= 1;
    this.#stats.written += 1;
  }

  failed(cause: unknown, onLost: OnLost | undefined): void {
    this.#stats.pending -= 1;
    this.#unreportedLosses += 1;
    this.#unreportedError = { cause };
    this.countFailed(writeFailed(cause));
    onLost?.(cause);
  }

  streamFailed(cause: unknown): void {
    this.#unreportedError = { cause };
    this.#stats.lastError = writeFailed(cause);
  }

  /** Returns the error of a failed flush. It counts no record as lost. */
  flushFailed(cause: unknown): SecurityEventError {
    this.#stats.lastError = writeFailed(cause);
    return this.#stats.lastError;
  }

  /** Counts a record that could not be written, and returns its error. */
  countFailed(error: SecurityEventError): SecurityEventError {
    this.#stats.failed += 1;
    this.#stats.lastError = error;
    this.#publishLost('failed', 1);
    return error;
  }

  /** Counts the pending lines that `close` gives up, and calls the `onLost` of each. */
  dropPending(lines: readonly (OnLost | undefined)[]): void {
    const { length } = lines;
    this.#stats.pending -= length;
    this.#unreportedLosses += length;
    this.#stats.dropped += length;
    this.#publishLost('dropped', length);
    const cause = new Error('`close` could not wait longer');
    for (const onLost of lines) onLost?.(cause);
  }

  platformFailed(error: Error): void {
    this.#stats.platformFailures += 1;
    this.#stats.lastPlatformError = error;
  }

  snapshot(): LogWriterStats {
    return { ...this.#stats };
  }
}

/** Runs no getter: the record may be the caller's object. */
function writtenEvent(record: unknown): LogEvents['record-written'] {
  const name: unknown = Object.getOwnPropertyDescriptor(Object(record), 'event_name')?.value;
  return { event_name: typeof name === 'string' ? name : '' };
}
