/** What was told of incidents, in the memory of one process: bounded, and forgotten with it. */
import { check, integer } from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type {
  IncidentChannel,
  IncidentNews,
  IncidentReport,
  IncidentStore,
} from './incident-store.ts';
import { keptName } from './kept-name.ts';

export interface MemoryIncidentsOptions {
  /** Those told of longest ago are forgotten first. 1 to 10,000,000; default 100,000. */
  readonly maxIncidents?: number;
  /**
   * Addresses and accounts of all incidents together. 1 to 100,000,000; default 1,000,000. None takes
   * more than a few hundred bytes, however long it is.
   */
  readonly maxNames?: number;
  /**
   * How long an incident is kept since it was last told of, in milliseconds by the clock of this
   * process: when a report says that it happened has no say. At least 1; default 30 days.
   */
  readonly keptMs?: number;
}

const DAY_MS = 86_400_000;

/** On one channel. */
interface Told {
  isCreated: boolean;
  readonly names: Set<string>;
}

interface KnownIncident {
  readonly startedAt: number;
  /** On the clock that never jumps. */
  seenAtMs: number;
  readonly told: { readonly [C in IncidentChannel]: Told };
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

  tell(report: IncidentReport): IncidentNews {
    const incident = this.#see(report);
    const told = incident.told[report.channel];
    const news = {
      isFirst: !told.isCreated,
      startedAt: incident.startedAt,
      newAddresses: this.#addNew(told, 'ip', report.addresses),
      newAccounts: this.#addNew(told, 'account', report.accounts),
    };
    told.isCreated = true;
    this.#forgetBeyond(incident);
    return news;
  }

  retract(report: IncidentReport, { isFirst, newAddresses, newAccounts }: IncidentNews): void {
    const told = this.#known.get(keyOf(report))?.told[report.channel];
    if (told === undefined) return;
    if (isFirst) told.isCreated = false;
    this.#remove(told, 'ip', newAddresses);
    this.#remove(told, 'account', newAccounts);
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

  #addNew(told: Told, kind: string, names: readonly string[]): string[] {
    const added: string[] = [];
    for (const name of names) {
      const size = told.names.size;
      told.names.add(keptName([kind, name]));
      if (told.names.size > size) added.push(name);
    }
    this.#nameCount += added.length;
    return added;
  }

  #remove(told: Told, kind: string, names: readonly string[]): void {
    for (const name of names) {
      if (told.names.delete(keptName([kind, name]))) this.#nameCount -= 1;
    }
  }

  #forgetBeyond(current: KnownIncident): void {
    const { maxIncidents, maxNames } = this.#limits;
    for (const [key, incident] of this.#known) {
      if (this.#known.size <= maxIncidents && this.#nameCount <= maxNames) return;
      // What was just told is kept: it is what the next report will be about.
      if (incident === current) break;
      this.#forget(key, incident);
    }
    this.#forgetNames(current);
  }

  /** An incident with more names than all may have: the oldest may be told again. */
  #forgetNames({ told }: KnownIncident): void {
    for (const { names } of [told.log, told.webhook]) {
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
  told: {
    log: { isCreated: false, names: new Set() },
    webhook: { isCreated: false, names: new Set() },
  },
});

const namesIn = ({ told }: KnownIncident): number => told.log.names.size + told.webhook.names.size;
