/** What the folder has of incidents, and how it is written. Ids and names are kept as digests: they may be long. */
import { createHash } from 'node:crypto';
import type { IncidentChannel, IncidentReport } from '../../incident/incident-store.ts';
import type { Change } from './change.ts';
import type { LevelContent } from './content.ts';
import { incidentKey, incidentsKey, seenKey } from './keys.ts';
import { encodeJson } from './values.ts';

export interface IncidentLimits {
  /** Those told of longest ago are forgotten first. */
  readonly maxIncidents: number;
  /** Addresses and accounts of all incidents together. */
  readonly maxNames: number;
  /** Since it was last told of. */
  readonly keptMs: number;
}

/** As of those in memory. */
export const INCIDENT_LIMITS: IncidentLimits = {
  maxIncidents: 100_000,
  maxNames: 1_000_000,
  keptMs: 30 * 86_400_000,
};

export interface StoredIncident {
  /** Its names have it: one that is told anew after it was forgotten has another. */
  readonly number: number;
  readonly startedAt: number;
  /** The queue's time. */
  readonly seenMs: number;
  /** On which channels it was created. */
  readonly created: Readonly<Partial<Record<IncidentChannel, true>>>;
}

/** How much there is, as it goes with every write. */
export interface Amounts {
  lastNumber: number;
  incidents: number;
  names: number;
}

export const NO_AMOUNTS: Readonly<Amounts> = { lastNumber: 0, incidents: 0, names: 0 };

/** What is known of the incidents while the folder stays open. */
export interface Book {
  readonly content: LevelContent;
  readonly amounts: Amounts;
  /** None was last told of before. */
  oldestMs: number;
}

/** JSON keeps the parts apart, whatever characters they have. */
export const digestOf = (parts: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(parts)).digest();

export const incidentOf = ({ applicationId, incidentId }: IncidentReport): Buffer =>
  digestOf([applicationId, incidentId]);

export function putIncident(change: Change, digest: Buffer, incident: StoredIncident): void {
  change.put(incidentKey(digest), encodeJson(incident));
}

export function putSeen(change: Change, digest: Buffer, { seenMs, number }: StoredIncident): void {
  change.put(seenKey(seenMs, number), digest);
}

export function putAmounts(change: Change, { amounts }: Book): void {
  change.put(incidentsKey(), encodeJson(amounts));
}
