/** What a reporter has counted since it was made. */

export interface ReporterStats {
  /** Calls, each once. */
  readonly reported: number;
  /** Records on channel A. */
  readonly written: number;
  /** Of these, records that follow the open dialect alone (D14). */
  readonly outsideStrict: number;
  /** Messages that were accepted on channel B. */
  readonly accepted: number;
  /** Events that are not told on channel B, by the reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Handed to `onRejected`, by channel. */
  readonly rejected: Readonly<Record<RejectedChannel, number>>;
  /** Dropped by `beforeSend`. */
  readonly dropped: number;
  /** Caused by this library's own work, and not told (a shield against going round in circles). */
  readonly ownWork: number;
}

export type RejectedChannel = 'log' | 'webhook';

type Counter = 'reported' | 'written' | 'outsideStrict' | 'accepted' | 'dropped' | 'ownWork';

export class ReporterCounters {
  readonly #counts: Record<Counter, number> = {
    reported: 0,
    written: 0,
    outsideStrict: 0,
    accepted: 0,
    dropped: 0,
    ownWork: 0,
  };
  readonly #skipped = new Map<string, number>();
  readonly #rejected: Record<RejectedChannel, number> = { log: 0, webhook: 0 };

  count(counter: Counter): void {
    this.#counts[counter] += 1;
  }

  skipped(reason: string): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
  }

  rejected(channel: RejectedChannel): void {
    this.#rejected[channel] += 1;
  }

  snapshot(): ReporterStats {
    return {
      ...this.#counts,
      skipped: Object.fromEntries(this.#skipped),
      rejected: { ...this.#rejected },
    };
  }
}
