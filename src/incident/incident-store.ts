/**
 * What has been told of which incident (D50): the first report on a channel creates it there, every
 * later one updates it. A queue may keep it where several processes see it.
 */

export type IncidentChannel = 'log' | 'webhook';

/** One report of an incident on one channel. */
export interface IncidentReport {
  readonly applicationId: string;
  readonly incidentId: string;
  readonly channel: IncidentChannel;
  /** When it happened, as the event says: milliseconds since the epoch. No clock to forget by. */
  readonly at: number;
  /** What it is about: addresses in D14's spelling, and accounts by any text that tells them apart. */
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

export interface IncidentNews {
  /** The report creates the incident on its channel: `create` (A), `created` (B). */
  readonly isFirst: boolean;
  /** The `at` of its first report, on whichever channel. */
  readonly startedAt: number;
  /** Those that no report on this channel has named before, each once, in the order given. */
  readonly newAddresses: readonly string[];
  readonly newAccounts: readonly string[];
}

/** Answers at once, or by promises; of two first reports at the same time one creates the incident. */
export interface IncidentStore {
  /** From now on the incident counts as told so. */
  tell(report: IncidentReport): IncidentNews | Promise<IncidentNews>;
  /**
   * The report was refused, skipped or failed after all: what it would have created or named is new
   * again. `news` is what `tell` gave for it.
   */
  retract(report: IncidentReport, news: IncidentNews): void | Promise<void>;
}
