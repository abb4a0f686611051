/** The log of a reporter: flushes and closes its writer, and returns an error beside the other results. */
import type { SecurityEventError } from '../errors.ts';
import type { WriteReport } from '../log/write-counters.ts';
import type { LogWriter, RecordWriter } from '../log/writer.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** The part of a log writer that a reporter uses. */
export interface Writer extends Pick<LogWriter<'open'>, 'write'> {
  flush(): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface LogOutput {
  readonly writer: Writer;
  /** The same writer, if the reporter created it and closes it. */
  readonly own?: RecordWriter<'open'>;
  /** Whether lines are written after `write` has returned. */
  readonly writesLater?: boolean;
}

/** The error of the log, if it had one. Messages are flushed or closed regardless. */
export interface LogResult {
  readonly logError?: SecurityEventError;
}

export class LogChannel {
  readonly #output: LogOutput | undefined;

  constructor(output: LogOutput | undefined) {
    this.#output = output;
  }

  /** Never rejects. */
  flush(): Promise<LogResult> {
    return this.#finish('flush');
  }

  /** Flushes the caller's writer but never closes it. Never rejects. */
  close(): Promise<LogResult> {
    return this.#finish(this.#output?.own === undefined ? 'flush' : 'close');
  }

  async #finish(method: 'flush' | 'close'): Promise<LogResult> {
    if (this.#output === undefined) return {};
    const { writer, own } = this.#output;
    try {
      const report = await writer[method]();
      const error = own === undefined ? undefined : (report as WriteReport).error;
      return error === undefined ? {} : { logError: error };
    } catch (error) {
      return { logError: wrapHostError(error, 'ERR_WRITE_FAILED') };
    }
  }
}
