/** What was told of incidents by whichever process: one value each, written by compare-and-set. */
import { createHash } from 'node:crypto';
import type {
  IncidentChannel,
  IncidentNews,
  IncidentReport,
  IncidentStore,
} from '../../incident/incident-store.ts';
import { Busy } from './jetstream-failure.ts';
import type { Session } from './session.ts';

/** How long an incident is known since it was last told of. */
const KEPT_MS = 30 * 86_400_000;

/** So many times a value is written anew because another process was quicker. */
const MAX_TRIES = 50;

/** Of one incident, which is one value of at most 1 MB: the oldest may be told again. */
const MAX_NAMES = 30_000;

/** Of a digest in base64url: 16 bytes. */
const DIGEST_LENGTH = 22;

/** On one channel: its names, oldest first, are digests put together. */
interface Told {
  readonly isCreated: boolean;
  readonly names: string;
}

interface Incident {
  readonly startedAt: number;
  readonly seenMs: number;
  readonly told: Readonly<Partial<Record<IncidentChannel, Told>>>;
}

type Named = Pick<IncidentReport, 'addresses' | 'accounts'>;

/** Resolves to the session, once there is a connection. */
export type Reach = <T>(
  work: (session: Pick<Session, 'store' | 'names' | 'time' | 'newId'>) => Promise<T>,
) => Promise<T>;

interface Change<T> {
  /** Absent: nothing is to be written. */
  readonly after?: Incident;
  readonly answer: T;
}

export class JetStreamIncidents implements IncidentStore {
  readonly #reach: Reach;
  /** By incident, the end of what this process does about it: so that it does not race with itself. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  tell(report: IncidentReport): Promise<IncidentNews> {
    return this.#change(report, (before, nowMs) => {
      const incident = before ?? { startedAt: report.at, seenMs: nowMs, told: {} };
      const told = incident.told[report.channel];
      const names = new Set(namesIn(told));
      const news = {
        isFirst: told?.isCreated !== true,
        startedAt: incident.startedAt,
        newAddresses: addNew(names, 'ip', report.addresses),
        newAccounts: addNew(names, 'account', report.accounts),
      };
      const latest = { isCreated: true, names: [...names].slice(-MAX_NAMES / 2).join('') };
      const after = {
        startedAt: incident.startedAt,
        seenMs: nowMs,
        told: { ...incident.told, [report.channel]: latest },
      };
      return { after, answer: news };
    });
  }

  retract(report: IncidentReport, news: IncidentNews): Promise<void> {
    const { isFirst, newAddresses: addresses, newAccounts: accounts } = news;
    return this.#change(report, (before) => {
      const told = before?.told[report.channel];
      if (before === undefined || told === undefined) return { answer: undefined };
      const gone = new Set(digestsOf({ addresses, accounts }));
      const names = namesIn(told).filter((name) => !gone.has(name));
      const left = { isCreated: told.isCreated && !isFirst, names: names.join('') };
      const after = { ...before, told: { ...before.told, [report.channel]: left } };
      return { after, answer: undefined };
    });
  }

  /** One after the other in this process, by compare-and-set beside others. */
  async #change<T>(
    report: IncidentReport,
    change: (before: Incident | undefined, nowMs: number) => Change<T>,
  ): Promise<T> {
    const key = digest(report.applicationId, report.incidentId);
    const before = this.#last.get(key);
    const changing = Promise.resolve(before)
      .catch(() => {})
      .then(() => this.#write(key, change));
    this.#last.set(key, changing);
    try {
      return await changing;
    } finally {
      if (this.#last.get(key) === changing) this.#last.delete(key);
    }
  }

  #write<T>(
    key: string,
    change: (before: Incident | undefined, nowMs: number) => Change<T>,
  ): Promise<T> {
    return this.#reach(async ({ store, names, time, newId }) => {
      const subject = `$KV.${names.incidentsBucket}.${key}`;
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const kept = await store.last(names.incidents, subject);
        const nowMs = time.now();
        const known = kept === undefined ? undefined : incidentIn(kept.body);
        const isOver = known === undefined || known.seenMs < nowMs - KEPT_MS;
        const { after, answer } = change(isOver ? undefined : known, nowMs);
        if (after === undefined) return answer;
        const body = Buffer.from(JSON.stringify(after));
        const lastSequence = kept?.sequence ?? 0;
        const written = await store.replace({ subject, body, lastSequence, messageId: newId() });
        if (written !== undefined) return answer;
      }
      throw new Busy('what is known of an incident changes all the time');
    });
  }
}

/** What another release wrote otherwise counts as unknown: the incident is told anew. */
function incidentIn(body: Buffer): Incident | undefined {
  try {
    const value = JSON.parse(body.toString()) as Partial<Incident> | null;
    const { startedAt, seenMs, told } = value ?? {};
    if (typeof startedAt !== 'number' || typeof seenMs !== 'number') return undefined;
    return { startedAt, seenMs, told: told ?? {} };
  } catch {
    return undefined;
  }
}

function namesIn(told: Told | undefined): string[] {
  const names: string[] = [];
  const text = told?.names ?? '';
  for (let at = 0; at < text.length; at += DIGEST_LENGTH) {
    names.push(text.slice(at, at + DIGEST_LENGTH));
  }
  return names;
}

/** Those that were not there, each once, in the order given. */
function addNew(names: Set<string>, kind: string, given: readonly string[]): string[] {
  return given.filter((name) => {
    const { size } = names;
    names.add(digest(kind, name));
    return names.size > size;
  });
}

const digestsOf = ({ addresses, accounts }: Named): string[] => [
  ...addresses.map((name) => digest('ip', name)),
  ...accounts.map((name) => digest('account', name)),
];

/** JSON keeps the parts apart, whatever characters they have. */
const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, DIGEST_LENGTH);
