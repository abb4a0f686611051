/** What was told of incidents, in the folder: of all of it only the amount is in memory. */
import type { IncidentNews, IncidentReport, IncidentStore } from '../../incident/incident-store.ts';
import type { Moment } from '../in-process/moment.ts';
import { Change } from './change.ts';
import { Forgetting } from './forgetting.ts';
import {
  type Amounts,
  type Book,
  digestOf,
  type IncidentLimits,
  incidentOf,
  NO_AMOUNTS,
  putAmounts,
  putIncident,
  putSeen,
  type StoredIncident,
} from './incident-rows.ts';
import { incidentKey, incidentsKey, namedKey, seenKey, storable } from './keys.ts';
import type { LevelState } from './state.ts';
import { decodeJson } from './values.ts';

/** Resolves once the folder is open. */
export type Reach = <T>(work: (at: Moment) => Promise<T>) => Promise<T>;

type Kind = 'ip' | 'account';

interface Named {
  readonly kind: Kind;
  readonly name: string;
  /** Of the channel, the kind and the name. */
  readonly digest: Buffer;
}

/** Names that are looked up at once: making their digests holds the event loop. */
const LOOKED_UP = 500;

export class LevelIncidents implements IncidentStore {
  readonly #state: LevelState;
  readonly #reach: Reach;
  readonly #limits: IncidentLimits;
  readonly #forgetting: Forgetting;
  /** By incident, the end of what is done about it. */
  readonly #last = new Map<string, Promise<unknown>>();
  #book: Book | undefined;

  constructor(state: LevelState, reach: Reach, limits: IncidentLimits) {
    this.#state = state;
    this.#reach = reach;
    this.#limits = limits;
    this.#forgetting = new Forgetting(state, limits, (digest, work) => this.#alone(digest, work));
  }

  tell(report: IncidentReport): Promise<IncidentNews> {
    return this.#reach(async (at) => {
      const digest = incidentOf(report);
      const news = await this.#alone(digest, () => this.#tell(report, digest, at));
      // It was told: what cannot be forgotten now goes with the next one.
      await this.#forgetting.forget(await this.#opened(), at).catch(() => {});
      return news;
    });
  }

  retract(report: IncidentReport, news: IncidentNews): Promise<void> {
    return this.#reach(async (at) => {
      const digest = incidentOf(report);
      await this.#alone(digest, () => this.#retract(report, { news, digest, at }));
    });
  }

  async #tell(report: IncidentReport, digest: Buffer, at: Moment): Promise<IncidentNews> {
    const { channel } = report;
    const book = await this.#opened();
    const known = await this.#known(digest, at);
    const added = await this.#ofNames(report, known, false);
    const change = new Change(book.content, at);
    const incident = {
      number: known?.number ?? book.amounts.lastNumber + 1,
      startedAt: known?.startedAt ?? report.at,
      seenMs: storable(at.nowMs),
      created: { ...known?.created, [channel]: true },
    };
    this.#state.inOneGo(() => {
      if (known === undefined) {
        book.amounts.lastNumber = incident.number;
        book.amounts.incidents += 1;
      } else change.del(seenKey(known.seenMs, known.number));
      book.amounts.names += added.length;
      book.oldestMs = Math.min(book.oldestMs, incident.seenMs);
      putIncident(change, digest, incident);
      putSeen(change, digest, incident);
      for (const name of added) change.put(namedKey(incident.number, name.digest), NOTHING);
      putAmounts(change, book);
    });
    await this.#state.write('incident', change);
    return {
      isFirst: known?.created[channel] !== true,
      startedAt: incident.startedAt,
      newAddresses: namesOf('ip', added),
      newAccounts: namesOf('account', added),
    };
  }

  async #retract(
    { channel }: IncidentReport,
    { news, digest, at }: { news: IncidentNews; digest: Buffer; at: Moment },
  ): Promise<void> {
    const book = await this.#opened();
    const known = await this.#known(digest, at);
    if (known === undefined) return;
    const { newAddresses: addresses, newAccounts: accounts, isFirst } = news;
    const gone = await this.#ofNames({ channel, addresses, accounts }, known, true);
    const change = new Change(book.content, at);
    this.#state.inOneGo(() => {
      if (isFirst) {
        const { [channel]: _, ...created } = known.created;
        putIncident(change, digest, { ...known, created });
      }
      book.amounts.names -= gone.length;
      for (const name of gone) change.del(namedKey(known.number, name.digest));
      putAmounts(change, book);
    });
    await this.#state.write('incident', change);
  }

  /** What is too old is forgotten, whether or not it is still there. */
  async #known(digest: Buffer, { nowMs }: Moment): Promise<StoredIncident | undefined> {
    const value = await this.#state.store.get(incidentKey(digest));
    if (value === undefined) return undefined;
    const incident = decodeJson<StoredIncident>(value);
    return incident.seenMs < nowMs - this.#limits.keptMs ? undefined : incident;
  }

  /** Of the names those that were told, or those that were not, each once and in the order given. */
  async #ofNames(
    names: Pick<IncidentReport, 'channel' | 'addresses' | 'accounts'>,
    known: StoredIncident | undefined,
    wereTold: boolean,
  ): Promise<Named[]> {
    const found: Named[] = [];
    for (const part of parts(names)) {
      const keys =
        known === undefined ? [] : part.map(({ digest }) => namedKey(known.number, digest));
      const values = await this.#state.store.getMany(keys);
      found.push(...part.filter((_, index) => (values[index] !== undefined) === wereTold));
    }
    return found;
  }

  /** Read anew where the folder was opened anew: what was added up since the last write is not so. */
  async #opened(): Promise<Book> {
    const { content, store } = this.#state;
    if (this.#book?.content !== content) {
      const value = await store.get(incidentsKey());
      // Another call may have had it meanwhile.
      if (this.#book?.content !== content) {
        const amounts = value === undefined ? NO_AMOUNTS : decodeJson<Amounts>(value);
        this.#book = { content, amounts: { ...amounts }, oldestMs: 0 };
      }
    }
    return this.#book;
  }

  /** Of two first reports at the same time one creates the incident. */
  async #alone<T>(digest: Buffer, work: () => Promise<T>): Promise<T> {
    const key = digest.toString('latin1');
    const before = this.#last.get(key);
    const running = before === undefined ? work() : before.then(work);
    const end = running.then(nothing, nothing);
    this.#last.set(key, end);
    void end.then(() => {
      if (this.#last.get(key) === end) this.#last.delete(key);
    });
    return await running;
  }
}

const NOTHING = Buffer.alloc(0);

const nothing = (): void => {};

const namesOf = (kind: Kind, names: readonly Named[]): string[] =>
  names.filter((one) => one.kind === kind).map(({ name }) => name);

function* parts({
  channel,
  addresses,
  accounts,
}: Pick<IncidentReport, 'channel' | 'addresses' | 'accounts'>): Iterable<readonly Named[]> {
  const lists = { ip: [...new Set(addresses)], account: [...new Set(accounts)] } as const;
  for (const kind of ['ip', 'account'] as const) {
    for (let start = 0; start < lists[kind].length; start += LOOKED_UP) {
      yield lists[kind]
        .slice(start, start + LOOKED_UP)
        .map((name) => ({ kind, name, digest: digestOf([channel, kind, name]) }));
    }
  }
}
