import { SecurityEventError } from '../../errors.ts';
import { ignoreRejection } from '../../runtime/ignore-rejection.ts';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  Durability,
  DurableQueue,
  EnqueueResult,
  ExpiredMessage,
  ItemKind,
  MessageResult,
  NothingDue,
  QueueClosing,
  QueueEntry,
  QueueItem,
  QueueStats,
  SequenceRange,
} from '../queue.ts';
import { claimOf, deadLettersOf, postedEntry } from './message-codec.ts';
import type { HandleSettings } from './protocol.ts';
import { type FileListener, type SharedFile, sharedFile } from './shared-file.ts';
import type { SqliteSettings } from './sqlite-options.ts';
import type { ClaimAnswer } from './worker/claim.ts';
import type { PageAnswer, PageRequest } from './worker/dead-letters.ts';
import type { Operation, Operations } from './worker/operations.ts';

/** A clock for tests. Without one, the worker reads the machine's clock. */
export interface WallClock {
  now(): number;
}

interface Opened {
  readonly file: SharedFile;
  readonly settings: HandleSettings;
}

/** One handle of a file. The worker of the file runs all calls, in their order. */
export class SqliteQueue implements DurableQueue {
  readonly durability: Durability;
  readonly #settings: SqliteSettings;
  readonly #clock: WallClock | undefined;
  readonly #due = new Set<() => void>();
  readonly #listener: FileListener;
  /** Claims that were neither settled nor released. */
  readonly #claims = new Set<string>();
  /** Calls of `open` and `claim` in progress: `close` waits for them, and releases their claims. */
  readonly #running = new Set<Promise<unknown>>();
  #opened: Opened | undefined;
  #closing: Promise<QueueClosing> | undefined;

  constructor(settings: SqliteSettings, clock?: WallClock) {
    const { sync, onDamage } = settings;
    this.durability = sync ? 'power-loss' : 'process-crash';
    this.#settings = settings;
    this.#clock = clock;
    this.#listener = {
      onDue: () => {
        for (const listener of this.#due) listener();
      },
      onDamage: (damage) => {
        try {
          ignoreRejection(onDamage?.(damage));
        } catch {
          // An error of the host must not stop the delivery of intact messages.
        }
      },
    };
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#tracked(this.#open(initialState));
  }

  async #open(initialState: ApplicationState): Promise<Backlog> {
    const file = this.#opened?.file ?? sharedFile(this.#settings.file);
    const { sync, maxPendingBytes, maxPendingMessages, maxDeadBytes } = this.#settings;
    const bounds = { maxPendingBytes, maxPendingMessages, maxDeadBytes };
    const settings = { sync, ...bounds, initialState };
    file.add(this.#listener);
    try {
      const backlog = await file.call('open', [], { nowMs: this.#nowMs(), settings, bodies: [] });
      this.#opened = { file, settings };
      return backlog;
    } catch (error) {
      if (this.#opened === undefined) await file.remove(this.#listener);
      throw error;
    }
  }

  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    const bodies = entries.map(({ stored }) => stored.bytes);
    return await this.#call('enqueue', [entries.map(postedEntry), delayMs], bodies);
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const answer = await this.#tracked(
      this.#call('claim', [request]).then((found) => {
        if (isClaim(found)) this.#claims.add(found.id);
        return found;
      }),
    );
    return isClaim(answer) ? claimOf(answer) : answer;
  }

  async settle(
    { id }: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    // `findIndex` visits holes too. They are no results.
    const isDelivered = results.findIndex(({ kind }) => kind !== 'delivered') === -1;
    const given = isDelivered ? null : results;
    const settlement = { results: given, count: results.length, update: state };
    const isSettled = await this.#call('settle', [id, settlement]);
    this.#claims.delete(id);
    return isSettled ? 'settled' : 'lost';
  }

  async release({ id }: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const isReleased = await this.#call('release', [id, state ?? null]);
    this.#claims.delete(id);
    return isReleased ? 'released' : 'lost';
  }

  async extend({ id }: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    return (await this.#call('extend', [id, leaseMs])) ? 'extended' : 'lost';
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return await this.#call('expire', [olderThanMs, maxMessages]);
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    return await this.#call('countPending', [ranges.map(({ from, to }) => ({ from, to }))]);
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    return await this.#call('applicationState', [applicationId]);
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    return await this.#call('closeApplication', [applicationId, maxMessages]);
  }

  async reopenApplication(applicationId: string): Promise<void> {
    await this.#call('reopenApplication', [applicationId]);
  }

  async listDeadLetters({
    limit,
    after = '0',
    ...filter
  }: DeadLetterFilter & {
    readonly limit: number;
    readonly after?: string;
  }): Promise<DeadLetterPage> {
    const page = { filter: copyOf(filter), limit, after: Number(after) };
    return deadLettersOf(await this.#call('listDeadLetters', [page]));
  }

  async replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#inPages('replay', filter);
  }

  async purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#inPages('purge', filter);
  }

  /** Each page is a transaction, so that other processes do not wait for all of them. */
  async #inPages(operation: 'replay' | 'purge', filter: DeadLetterFilter): Promise<number> {
    let page: PageRequest | undefined = { filter: copyOf(filter), after: 0 };
    let sum = 0;
    while (page !== undefined) {
      const { count, after, upTo }: PageAnswer = await this.#call(operation, [page]);
      sum += count;
      page = after === undefined ? undefined : { filter: page.filter, after, upTo };
    }
    return sum;
  }

  async exportItems(kind: ItemKind, after: number): Promise<readonly QueueItem[]> {
    return await this.#call('exportItems', [kind, after]);
  }

  async importItems(items: readonly QueueItem[]): Promise<number> {
    return await this.#call('importItems', [items as unknown as Operations['importItems'][0][0]]);
  }

  async stats(): Promise<QueueStats> {
    return await this.#call('stats', []);
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#due.add(call);
    return () => void this.#due.delete(call);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#close();
    return await this.#closing;
  }

  async #close(): Promise<QueueClosing> {
    await Promise.allSettled(this.#running);
    this.#due.clear();
    if (this.#opened === undefined) return { returned: [], left: 0 };
    const { file, settings } = this.#opened;
    try {
      const options = { nowMs: this.#nowMs(), settings, bodies: [] };
      return { returned: [], left: await file.call('closeHandle', [[...this.#claims]], options) };
    } finally {
      await file.remove(this.#listener);
    }
  }

  #call<Name extends Operation>(
    operation: Name,
    args: Operations[Name][0],
    bodies: readonly Uint8Array[] = [],
  ): Promise<Operations[Name][1]> {
    if (this.#opened === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const { file, settings } = this.#opened;
    return file.call(operation, args, { nowMs: this.#nowMs(), settings, bodies });
  }

  async #tracked<T>(running: Promise<T>): Promise<T> {
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

const isClaim = (answer: ClaimAnswer | NothingDue): answer is ClaimAnswer =>
  Object.hasOwn(answer, 'messages');

/** Copies a filter, since it may be of a class, or change before it is posted. */
const copyOf = ({ applicationId, ids }: DeadLetterFilter): DeadLetterFilter => ({
  ...(applicationId === undefined ? {} : { applicationId }),
  ...(ids === undefined ? {} : { ids: [...ids] }),
});
