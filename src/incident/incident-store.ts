/**
 * The interface of incident stores, which remember the incidents reported on each channel: the first
 * report on a channel creates the incident there, and later ones update it. A store in a database serves
 * several processes.
 */
import { createHash } from 'node:crypto';
import { integer, type OptionValues, option } from '../option-rules.ts';

export type IncidentChannel = 'log' | 'webhook';

/** One report of an incident on one channel. */
export interface IncidentReport {
  readonly applicationId: string;
  readonly incidentId: string;
  readonly channel: IncidentChannel;
  /** The time of the event, in milliseconds since the epoch. Expiry does not use it. */
  readonly at: number;
  /** Normalised addresses, and a distinct text for each account. */
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

export interface IncidentChanges {
  /** Whether the report creates the incident on its channel. */
  readonly isFirst: boolean;
  /** The `at` of its first report on any channel. */
  readonly startedAt: number;
  /** Not in an earlier report on this channel. Each once, in the order of the report. */
  readonly newAddresses: readonly string[];
  readonly newAccounts: readonly string[];
}

/** Returns values or promises. If two first reports are concurrent, only one may get `isFirst`. */
export interface IncidentStore {
  /** Records a report, and returns what is new in it. */
  record(report: IncidentReport): IncidentChanges | Promise<IncidentChanges>;
  /**
   * Undoes a report that was refused, skipped or failed: its changes are new again. `startedAt` stays: the
   * incident was detected then. `changes` is what `record` returned for it. Has no effect if the incident was
   * forgotten meanwhile, also if it began again, with another `startedAt`.
   */
  retract(report: IncidentReport, changes: IncidentChanges): void | Promise<void>;
}

const DAY_MS = 86_400_000;

export const INCIDENT_LIMITS = {
  /** Maximum number of incidents; the one reported longest ago is forgotten first. 1 to 10,000,000; default 100,000. */
  maxIncidents: option(integer(1, 10_000_000), 100_000),
  /**
   * Maximum number of addresses and accounts of all incidents. Each takes a few hundred bytes at most.
   * 1 to 100,000,000; default 1,000,000.
   */
  maxAddressesAndAccounts: option(integer(1, 100_000_000), 1_000_000),
  /** Time to keep an incident after its last report, in milliseconds. 1 to 9007199254740991; default 30 days. */
  retentionMs: option(integer(1, Number.MAX_SAFE_INTEGER), 30 * DAY_MS),
};

export type IncidentLimits = OptionValues<typeof INCIDENT_LIMITS>;

/** A longer key is replaced by its digest, in characters. */
export const MAX_KEY_LENGTH = 128;

/** Returns a key for the parts: their JSON, or its digest if it is long. */
export function compactKey(parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  return text.length <= MAX_KEY_LENGTH ? text : digestOf(parts).toString('base64');
}

/** Returns a digest of fixed length: ids and names may have any length. */
export const digestOf = (parts: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(parts)).digest();
