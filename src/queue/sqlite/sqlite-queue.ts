import { SecurityEventError } from '../../errors.ts';
import type {
  ApplicationItem,
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  Durability,
  EnqueueResult,
  ExpiredMessage,
  KeyedItem,
  MessageItem,
  MessageQueue,
  MessageResult,
  NothingDue,
  QueueClosing,
  QueueEntry,
  QueueStats,
  SequenceRange,
} from '../queue.ts';
import { reportDamage, type SqliteQueueDamage } from './damage.ts';
import type { Answer } from './file-worker.ts';
import { bodiesOf, exportedItems, importedRow } from './items.ts';
import { claimOf, deadLettersOf, entryTuple, resultTuples, stateOf, statsOf } from './messages.ts';
import {
  type ClaimAnswer,
  type EnqueueSettings,
  type Operation,
  type Operations,
  type StateUpdate,
  stateTuple,
  toWhole,
} from './protocol.ts';
import { type FileListener, type SharedFile, sharedFile } from './shared-file.ts';
import type { SqliteSettings } from './sqlite-options.ts';

/** A clock that tests move. Without one, the worker reads the machine's own. */
export interface WallClock {
  now(): number;
}

interface Opened {
  readonly file: SharedFile;
  readonly settings: EnqueueSettings['settings'];
}

const isClaim = (answer: ClaimAnswer | NothingDue): answer is ClaimAnswer =>
  Object.hasOwn(answer, 'messages');

/** One handle of a file. All calls are done by the worker of the file, in the order of the calls. */
export class SqliteQueue implements MessageQueue {
  readonly durability: Durability;
  readonly #settings: SqliteSettings;
  readonly #clock: WallClock | undefined;
  readonly #due = new Set<() => void>();
  readonly #listener: FileListener;
  /** Claims that were neither settled nor released. */
  readonly #claims = new Set<string>();
  /** Calls under way. */
  readonly #running = new Set<Promise<unknown>>();
  #opened: Opened | undefined;
  #closing: Promise<QueueClosing> | undefined;

  constructor(settings: SqliteSettings, clock?: WallClock) {
    this.durability = settings.sync ? 'power-loss' : 'process-crash';
    this.#settings = settings;
    this.#clock = clock;
    this.#listener = {
      sync: settings.sync,
      watches: () => this.#due.size > 0,
      onDue: () => this.#notify(),
      onDamage: (damage: SqliteQueueDamage) => reportDamage(damage, settings.onDamage),
    };
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    const file = this.#opened?.file ?? sharedFile(this.#settings.file);
    const { maxPendingBytes, maxPendingMessages } = this.#settings;
    const bounds = { maxPendingBytes, maxPendingMessages };
    const opened = { file, settings: { initialState: stateTuple(initialState), bounds } };
    file.add(this.#listener);
    try {
      const { value } = await file.call('open', null, { nowMs: this.#nowMs() });
      this.#opened = opened;
      return value;
    } catch (error) {
      if (this.#opened === undefined) await file.remove(this.#listener);
      throw error;
    }
  }

  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    const { settings } = this.#session();
    const argument = { entries: entries.map(entryTuple), delayMs, settings };
    const bodies = entries.map(({ stored }) => stored.bytes);
    return (await this.#call('enqueue', argument, bodies)).value;
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const { tiers, maxMessages, maxBytes, leaseMs } = request;
    const limits = { maxMessages: toWhole(maxMessages), maxBytes: toWhole(maxBytes) };
    const { value, bodies } = await this.#call('claim', { tiers: [...tiers], ...limits, leaseMs });
    if (!isClaim(value)) return value;
    this.#claims.add(value.id);
    return claimOf(value, bodies);
  }

  async settle(
    { id }: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    const { value } = await this.#call('settle', {
      id,
      results: resultTuples(results),
      count: results.length,
      update: updateOf(state),
      maxDeadBytes: this.#settings.maxDeadBytes,
    });
    this.#claims.delete(id);
    return value ? 'settled' : 'lost';
  }

  async release({ id }: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const update = state === undefined ? null : updateOf(state);
    const { value } = await this.#call('release', { id, update });
    this.#claims.delete(id);
    return value ? 'released' : 'lost';
  }

  async extend({ id }: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    return (await this.#call('extend', { id, leaseMs })).value ? 'extended' : 'lost';
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    const { maxDeadBytes } = this.#settings;
    return (await this.#call('expire', { olderThanMs, maxMessages, maxDeadBytes })).value;
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    const copies = ranges.map(({ from, to }) => ({ from, to }));
    return (await this.#call('countPending', copies)).value;
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    const { value } = await this.#call('applicationState', applicationId);
    return value === null ? undefined : stateOf(value);
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    const { initialState } = this.#session().settings;
    const { maxDeadBytes } = this.#settings;
    const argument = { applicationId, initialState, maxMessages, maxDeadBytes };
    return (await this.#call('closeApplication', argument)).value;
  }

  async reopenApplication(applicationId: string): Promise<void> {
    const state = this.#session().settings.initialState;
    await this.#call('reopenApplication', { applicationId, state });
  }

  async listDeadLetters({
    limit,
    after,
    ...filter
  }: DeadLetterFilter & {
    readonly limit: number;
    readonly after?: string;
  }): Promise<DeadLetterPage> {
    // One more than asked for tells whether there is another page.
    const argument = { filter: filterOf(filter), limit: limit + 1, after: Number(after ?? 0) };
    const { value, bodies } = await this.#call('listDeadLetters', argument);
    const items = deadLettersOf(value.slice(0, limit), bodies);
    const next = value.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  async replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    const { bounds } = this.#session().settings;
    return await this.#inPages(filter, (page) => this.#call('replay', { ...page, bounds }));
  }

  async purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#inPages(filter, (page) => this.#call('purge', page));
  }

  /** Each page is a transaction, so that other processes do not wait for all of them. */
  async #inPages(
    filter: DeadLetterFilter,
    call: (page: Operations['purge'][0]) => Promise<Answer<Operations['purge'][1]>>,
  ): Promise<number> {
    let page: Operations['purge'][0] | undefined = { filter: filterOf(filter), after: 0 };
    let sum = 0;
    while (page !== undefined) {
      const { value }: Answer<Operations['purge'][1]> = await call(page);
      sum += value.count;
      const { after, upTo } = value;
      page = after === undefined ? undefined : { filter: page.filter, after, upTo };
    }
    return sum;
  }

  exportItems(): AsyncIterable<ApplicationItem | MessageItem> {
    return exportedItems((page) => this.#call('exportPage', page));
  }

  async importItems(items: readonly KeyedItem[]): Promise<number> {
    const { settings } = this.#session();
    const { maxDeadBytes } = this.#settings;
    const argument = { items: items.map(importedRow), settings, maxDeadBytes };
    return (await this.#call('importItems', argument, bodiesOf(items))).value;
  }

  async stats(): Promise<QueueStats> {
    return statsOf((await this.#call('stats', null)).value);
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#due.add(call);
    this.#opened?.file.refresh();
    return () => {
      this.#due.delete(call);
      this.#opened?.file.refresh();
    };
  }

  #notify(): void {
    for (const listener of this.#due) listener();
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  async #end(): Promise<QueueClosing> {
    await Promise.allSettled(this.#running);
    this.#due.clear();
    const file = this.#opened?.file;
    if (file === undefined) return { returned: [], left: 0 };
    try {
      const closed = file.call('closeHandle', [...this.#claims], { nowMs: this.#nowMs() });
      return { returned: [], left: (await closed).value };
    } finally {
      await file.remove(this.#listener);
    }
  }

  #session(): Opened {
    if (this.#opened === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    return this.#opened;
  }

  async #call<Name extends Operation>(
    operation: Name,
    argument: Operations[Name][0],
    bodies: readonly Uint8Array[] = [],
  ): Promise<Answer<Operations[Name][1]>> {
    const { file } = this.#session();
    const running = file.call(operation, argument, { nowMs: this.#nowMs(), bodies });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  #nowMs(): number | null {
    return this.#clock?.now() ?? null;
  }
}

const updateOf = (update: ApplicationUpdate): StateUpdate => ({
  state: stateTuple(update),
  pauseMs: update.pauseMs,
});

/** A copy: the caller's may be of a class, or change meanwhile. */
const filterOf = ({ applicationId, ids }: DeadLetterFilter): DeadLetterFilter => ({
  ...(applicationId === undefined ? {} : { applicationId }),
  ...(ids === undefined ? {} : { ids: [...ids] }),
});
