/** The end of channel A: what the log could not do is told beside the rest, which was done all the same. */
import { asOurs } from './as-ours.ts';
import type { HeldWriter, Writer } from './record-sink.ts';
import type { LogTrouble } from './reporter.ts';

export class LogEnd {
  readonly #held: HeldWriter | undefined;

  constructor(held: HeldWriter | undefined) {
    this.#held = held;
  }

  /** Never rejects. */
  flush(): Promise<LogTrouble> {
    return this.#asked((writer) => writer.flush());
  }

  /** Of a writer of the caller's a flush. Never rejects. */
  close(): Promise<LogTrouble> {
    return this.#asked((writer) =>
      this.#held?.isOwned === true ? writer.close() : writer.flush(),
    );
  }

  async #asked(ask: (writer: Writer) => Promise<void>): Promise<LogTrouble> {
    if (this.#held === undefined) return {};
    try {
      await ask(this.#held.writer);
      return {};
    } catch (error) {
      return { logError: asOurs(error, 'ERR_WRITE_FAILED') };
    }
  }
}
