/** The incident store in memory: bounded, and lost with the process. */
import { check, integer } from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type {
  IncidentChanges,
  IncidentChannel,
  IncidentReport,
  IncidentStore,
} from './incident-store.ts';
import { keptName } from './incident-store.ts';

export interface MemoryIncidentsOptions {
  /** Incidents reported longest ago are forgotten first. 1 to 10,000,000; default 100,000. */
  readonly maxIncidents?: number;
  /**
   * Addresses and accounts of all incidents together. 1 to 100,000,000; default 1,000,000. None takes
   * more than a few hundred bytes, however long it is.
   */
  readonly maxNames?: number;
  /**
   * How long an incident is kept since its last report, in milliseconds by the clock of this
   * process: when a report says that it happened has no say. At least 1; default 30 days.
   */
  readonly keptMs?: number;
}

const DAY_MS = 86_400_000;

/** On one channel. */
interface Reported {
  isCreated: boolean;
  readonly names: Set<string>;
}

interface KnownIncident {
  readonly startedAt: number;
  /** On the clock that never jumps. */
  seenAtMs: number;
  readonly reported: { readonly [C in IncidentChannel]: Reported };
}

const RULES = {
  maxIncidents: integer(1, 10_000_000),
  maxNames: integer(1, 100_000_000),
  keptMs: integer(1, Number.MAX_SAFE_INTEGER),
};

/**
 * What a reporter remembers of incidents unless it is given a store: for reporters of one process that
 * are to share it, or for other bounds.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryIncidents(options: MemoryIncidentsOptions = {}): IncidentStore {
  return makeMemoryIncidents(options, systemClock);
}

type Time = Pick<Clock, 'monotonicMs'>;

export function makeMemoryIncidents(options: MemoryIncidentsOptions, clock: Time): IncidentStore {
  const given = check<MemoryIncidentsOptions>(options, RULES);
  const { maxIncidents = 100_000, maxNames = 1_000_000, keptMs = 30 * DAY_MS } = given;
  return new MemoryIncidents({ maxIncidents, maxNames, keptMs }, clock);
}

class MemoryIncidents implements IncidentStore {
  readonly #limits: Required<MemoryIncidentsOptions>;
  readonly #clock: Time;
  /** In the order in which they were last seen. */
  readonly #known = new Map<string, KnownIncident>();
  #nameCount = 0;

  constructor(limits: Required<MemoryIncidentsOptions>, clock: Time) {
    this.#limits = limits;
    this.#clock = clock;
  }

  record(report: IncidentReport): IncidentChanges {
    const incident = this.#see(report);
    const reported = incident.reported[report.channel];
    const changes = {
      isFirst: !reported.isCreated,
      startedAt: incident.startedAt,
      newAddresses: this.#addNew(reported, 'ip', report.addresses),
      newAccounts: this.#addNew(reported, 'account', report.accounts),
    };
    reported.isCreated = true;
    this.#forgetBeyond(incident);
    return changes;
  }

  retract(report: IncidentReport, { isFirst, newAddresses, newAccounts }: IncidentChanges): void {
    const reported = this.#known.get(keyOf(report))?.reported[report.channel];
    if (reported === undefined) return;
    if (isFirst) reported.isCreated = false;
    this.#remove(reported, 'ip', newAddresses);
    this.#remove(reported, 'account', newAccounts);
  }

  #see(report: IncidentReport): KnownIncident {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetBefore(nowMs - this.#limits.keptMs);
    const key = keyOf(report);
    const known = this.#known.get(key);
    const incident = known ?? unseen(report.at);
    incident.seenAtMs = nowMs;
    // Behind all others: it was seen last.
    this.#known.delete(key);
    this.#known.set(key, incident);
    return incident;
  }

  #forgetBefore(seenAtMs: number): void {
    for (const [key, incident] of this.#known) {
      if (incident.seenAtMs >= seenAtMs) return;
      this.#forget(key, incident);
    }
  }

  #addNew(reported: Reported, kind: string, names: readonly string[]): string[] {
    const added: string[] = [];
    for (const name of names) {
      const size = reported.names.size;
      reported.names.add(keptName([kind, name]));
      if (reported.names.size > size) added.push(name);
    }
    this.#nameCount += added.length;
    return added;
  }

  #remove(reported: Reported, kind: string, names: readonly string[]): void {
    for (const name of names) {
      if (reported.names.delete(keptName([kind, name]))) this.#nameCount -= 1;
    }
  }

  #forgetBeyond(current: KnownIncident): void {
    const { maxIncidents, maxNames } = this.#limits;
    for (const [key, incident] of this.#known) {
      if (this.#known.size <= maxIncidents && this.#nameCount <= maxNames) return;
      // The incident that was just reported stays: its next report is likely.
      if (incident === current) break;
      this.#forget(key, incident);
    }
    this.#forgetNames(current);
  }

  /** Forgets the oldest names of an incident that alone has more names than the limit. */
  #forgetNames({ reported }: KnownIncident): void {
    for (const { names } of [reported.log, reported.webhook]) {
      for (const name of names) {
        if (this.#nameCount <= this.#limits.maxNames) return;
        names.delete(name);
        this.#nameCount -= 1;
      }
    }
  }

  #forget(key: string, incident: KnownIncident): void {
    this.#known.delete(key);
    this.#nameCount -= namesIn(incident);
  }
}

const keyOf = ({ applicationId, incidentId }: IncidentReport): string =>
  keptName([applicationId, incidentId]);

const unseen = (at: number): KnownIncident => ({
  startedAt: at,
  seenAtMs: 0,
  reported: {
    log: { isCreated: false, names: new Set() },
    webhook: { isCreated: false, names: new Set() },
  },
});

const namesIn = ({ reported }: KnownIncident): number =>
  reported.log.names.size + reported.webhook.names.size;
