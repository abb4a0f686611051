/**
 * The incidents reported so far (D50): the first report on a channel creates the incident there, every
 * later one updates it. A store in a queue's database shares this between processes.
 */
import { createHash } from 'node:crypto';

export type IncidentChannel = 'log' | 'webhook';

/** One report of an incident on one channel. */
export interface IncidentReport {
  readonly applicationId: string;
  readonly incidentId: string;
  readonly channel: IncidentChannel;
  /** When it happened, as the event says: milliseconds since the epoch. No clock to forget by. */
  readonly at: number;
  /** Related addresses in D14's spelling, and accounts by any text that identifies them. */
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

export interface IncidentChanges {
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
  /** Records the report, and returns what is new about the incident. */
  record(report: IncidentReport): IncidentChanges | Promise<IncidentChanges>;
  /**
   * The report was refused, skipped or failed after all: what it would have created or named is new
   * again. `changes` is what `record` returned for it.
   */
  retract(report: IncidentReport, changes: IncidentChanges): void | Promise<void>;
}

/** In characters. */
export const MAX_KEPT_LENGTH = 128;

/**
 * JSON keeps the parts apart, whatever characters they have, and shares no memory with them. What is
 * longer is kept as its digest.
 */
export function keptName(parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  if (text.length <= MAX_KEPT_LENGTH) return text;
  return createHash('sha256').update(text).digest('base64');
}
