/** The log writer of a reporter: flushes and closes it, and reports its error beside the other results. */
import type { SecurityEventError } from '../errors.ts';
import type { WriteReport } from '../log/write-counters.ts';
import type { LogWriter, RecordWriter } from '../log/writer.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** The part of a log writer that a reporter uses. */
export interface Writer extends Pick<LogWriter<'open'>, 'write'> {
  flush(): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface HeldWriter {
  readonly writer: Writer;
  /** The same writer, if the reporter made it and closes it. */
  readonly own?: RecordWriter<'open'>;
  /** Whether lines are written after `write` has returned. */
  readonly writesLater?: boolean;
}

/** The error of the log, if it had one. Messages are flushed or closed regardless. */
export interface LogTrouble {
  readonly logError?: SecurityEventError;
}

export class LogEnd {
  readonly #held: HeldWriter | undefined;

  constructor(held: HeldWriter | undefined) {
    this.#held = held;
  }

  /** Never rejects. */
  flush(): Promise<LogTrouble> {
    return this.#asked((writer) => writer.flush());
  }

  /** Flushes the caller's writer but never closes it. Never rejects. */
  close(): Promise<LogTrouble> {
    return this.#asked((writer) =>
      this.#held?.own === undefined ? writer.flush() : writer.close(),
    );
  }

  async #asked(ask: (writer: Writer) => Promise<unknown>): Promise<LogTrouble> {
    if (this.#held === undefined) return {};
    try {
      const report = await ask(this.#held.writer);
      const error = this.#held.own === undefined ? undefined : (report as WriteReport).error;
      return error === undefined ? {} : { logError: error };
    } catch (error) {
      return { logError: wrapHostError(error, 'ERR_WRITE_FAILED') };
    }
  }
}
