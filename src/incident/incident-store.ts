/**
 * The contract of incident stores (D50): which incidents were reported on which channel. The first
 * report on a channel creates the incident there, and later ones update it. A database can keep them for
 * several processes.
 */
import { createHash } from 'node:crypto';

export type IncidentChannel = 'log' | 'webhook';

/** One report of an incident on one channel. */
export interface IncidentReport {
  readonly applicationId: string;
  readonly incidentId: string;
  readonly channel: IncidentChannel;
  /** When it happened by the event, in milliseconds since the epoch. Stores do not expire by this. */
  readonly at: number;
  /** The addresses, in the spelling of D14, and the accounts, as texts that differ. */
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

export interface IncidentChanges {
  /** The report creates the incident on its channel: `create` (A), `created` (B). */
  readonly isFirst: boolean;
  /** The `at` of its first report on any channel. */
  readonly startedAt: number;
  /** Those that no earlier report on this channel named. Each once, in the order of the report. */
  readonly newAddresses: readonly string[];
  readonly newAccounts: readonly string[];
}

/** Returns values or promises. Of two first reports at the same time, one creates the incident. */
export interface IncidentStore {
  /** Records a report, and returns what is new in it. */
  record(report: IncidentReport): IncidentChanges | Promise<IncidentChanges>;
  /**
   * Takes a report back that was refused, skipped or failed: what it created or named is new again.
   * `changes` is what `record` returned for it.
   */
  retract(report: IncidentReport, changes: IncidentChanges): void | Promise<void>;
}

/** In characters. */
export const MAX_KEPT_LENGTH = 128;

/**
 * Returns the parts as JSON, which keeps them apart and shares no memory with them. Returns a digest
 * when that is too long.
 */
export function keptName(parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  if (text.length <= MAX_KEPT_LENGTH) return text;
  return createHash('sha256').update(text).digest('base64');
}
