/** A bounded incident store in the memory of one process. */
import { type OptionsOf, readOptions } from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import {
  compactKey,
  INCIDENT_LIMITS,
  type IncidentChanges,
  type IncidentChannel,
  type IncidentLimits,
  type IncidentReport,
  type IncidentStore,
} from './incident-store.ts';

export interface MemoryIncidentsOptions extends OptionsOf<typeof INCIDENT_LIMITS> {}

/** The reports of an incident on one channel. */
interface ChannelReports {
  isCreated: boolean;
  readonly keys: Set<string>;
}

interface KnownIncident {
  readonly startedAt: number;
  /** Time of the latest report, by the monotonic clock. */
  seenAtMs: number;
  readonly channels: { readonly [C in IncidentChannel]: ChannelReports };
}

/**
 * Creates an incident store in memory. By default each reporter has its own: create one to share it
 * between the reporters of a process, or to change its limits.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryIncidents(options: MemoryIncidentsOptions = {}): IncidentStore {
  return makeMemoryIncidents(options, systemClock);
}

type Time = Pick<Clock, 'monotonicMs'>;

export function makeMemoryIncidents(options: MemoryIncidentsOptions, clock: Time): IncidentStore {
  return new MemoryIncidents(readOptions(options, INCIDENT_LIMITS), clock);
}

class MemoryIncidents implements IncidentStore {
  readonly #limits: IncidentLimits;
  readonly #clock: Time;
  /** Ordered by latest report. */
  readonly #known = new Map<string, KnownIncident>();
  #keyCount = 0;

  constructor(limits: IncidentLimits, clock: Time) {
    this.#limits = limits;
    this.#clock = clock;
  }

  record(report: IncidentReport): IncidentChanges {
    const incident = this.#touch(report);
    const reported = incident.channels[report.channel];
    const changes = {
      isFirst: !reported.isCreated,
      startedAt: incident.startedAt,
      newAddresses: this.#addNew(reported, 'ip', report.addresses),
      newAccounts: this.#addNew(reported, 'account', report.accounts),
    };
    reported.isCreated = true;
    this.#forgetOverLimits(incident);
    return changes;
  }

  retract(report: IncidentReport, changes: IncidentChanges): void {
    const { isFirst, startedAt, newAddresses, newAccounts } = changes;
    const incident = this.#known.get(keyOf(report));
    if (incident?.startedAt !== startedAt) return;
    const reported = incident.channels[report.channel];
    if (isFirst) reported.isCreated = false;
    this.#remove(reported, 'ip', newAddresses);
    this.#remove(reported, 'account', newAccounts);
  }

  #touch(report: IncidentReport): KnownIncident {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetSeenBefore(nowMs - this.#limits.retentionMs);
    const key = keyOf(report);
    const known = this.#known.get(key);
    const incident = known ?? newIncident(report.at);
    incident.seenAtMs = nowMs;
    // Moves it to the end of the order.
    this.#known.delete(key);
    this.#known.set(key, incident);
    return incident;
  }

  #forgetSeenBefore(seenAtMs: number): void {
    for (const [key, incident] of this.#known) {
      if (incident.seenAtMs >= seenAtMs) return;
      this.#forget(key, incident);
    }
  }

  #addNew({ keys }: ChannelReports, kind: string, names: readonly string[]): string[] {
    const added: string[] = [];
    for (const name of names) {
      const { size } = keys;
      keys.add(compactKey([kind, name]));
      if (keys.size > size) added.push(name);
    }
    this.#keyCount += added.length;
    return added;
  }

  #remove({ keys }: ChannelReports, kind: string, names: readonly string[]): void {
    for (const name of names) {
      if (keys.delete(compactKey([kind, name]))) this.#keyCount -= 1;
    }
  }

  #forgetOverLimits(current: KnownIncident): void {
    const { maxIncidents, maxAddressesAndAccounts } = this.#limits;
    for (const [key, incident] of this.#known) {
      if (this.#known.size <= maxIncidents && this.#keyCount <= maxAddressesAndAccounts) return;
      // The next report is most likely about this one.
      if (incident === current) break;
      this.#forget(key, incident);
    }
    this.#forgetKeys(current);
  }

  /** Forgets the oldest keys of an incident that alone exceeds `maxAddressesAndAccounts`. */
  #forgetKeys({ channels }: KnownIncident): void {
    for (const { keys } of [channels.log, channels.webhook]) {
      for (const key of keys) {
        if (this.#keyCount <= this.#limits.maxAddressesAndAccounts) return;
        keys.delete(key);
        this.#keyCount -= 1;
      }
    }
  }

  #forget(key: string, incident: KnownIncident): void {
    this.#known.delete(key);
    this.#keyCount -= keyCountOf(incident);
  }
}

const keyOf = ({ applicationId, incidentId }: IncidentReport): string =>
  compactKey([applicationId, incidentId]);

const newIncident = (at: number): KnownIncident => ({
  startedAt: at,
  seenAtMs: 0,
  channels: {
    log: { isCreated: false, keys: new Set() },
    webhook: { isCreated: false, keys: new Set() },
  },
});

const keyCountOf = ({ channels: { log, webhook } }: KnownIncident): number =>
  log.keys.size + webhook.keys.size;
