/** Attacks of one kind belong to one incident: the first creates it, further ones update it. */
import { randomUUID } from 'node:crypto';

export interface Incident {
  readonly id: string;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly attackCount: number;
}

/** Returns a function that adds an attack to its incident and gives the incident as it is then. */
export function createIncidents(): (ruleset: string, detectedAt: string) => Incident {
  const incidents = new Map<string, Incident>();
  return (ruleset, detectedAt) => {
    const known = incidents.get(ruleset);
    const incident = {
      id: known?.id ?? randomUUID(),
      startedAt: known?.startedAt ?? detectedAt,
      updatedAt: detectedAt,
      attackCount: (known?.attackCount ?? 0) + 1,
    };
    incidents.set(ruleset, incident);
    return incident;
  };
}
