import { SecurityEventError } from '../../errors.ts';
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
import { Calls } from './calls.ts';
import { CounterFlusher } from './counter-flusher.ts';
import { type Database, openDatabase } from './database.ts';
import { EnqueueBatcher } from './enqueue-batcher.ts';
import { LiveClaims } from './live-claims.ts';
import { Notifier } from './notifier.ts';
import type { ReadOptions } from './options.ts';
import { type ClaimName, claimName } from './rows.ts';
import type { Surroundings } from './servers.ts';

export interface QueueSurroundings extends Surroundings {
  readonly newId: () => string;
}

interface Opened {
  readonly database: Database;
  readonly calls: Calls;
  readonly flusher: CounterFlusher;
  readonly batcher: EnqueueBatcher;
}

export class PostgresQueue implements DurableQueue {
  readonly #options: ReadOptions;
  readonly #surroundings: QueueSurroundings;
  readonly #notifier: Notifier;
  /** Names this queue among those that notify. */
  readonly #caller: string;
  #opened: Opened | undefined;
  #opening: Promise<Opened> | undefined;
  #closing: Promise<QueueClosing> | undefined;
  /** Calls that have not ended. */
  readonly #running = new Set<Promise<unknown>>();
  readonly #claims = new LiveClaims();

  constructor(options: ReadOptions, surroundings: QueueSurroundings) {
    const { pollMs, schema, callTimeoutMs } = options;
    const { clock, newId } = surroundings;
    this.#options = options;
    this.#surroundings = surroundings;
    const caller = newId();
    this.#caller = caller;
    this.#notifier = new Notifier({ clock, pollMs, callTimeoutMs, channel: schema, caller });
  }

  /** What the server's settings keep, as they were last read; `process-crash` before that. */
  get durability(): Durability {
    return this.#opened?.database.durability ?? 'process-crash';
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    const { calls } = await this.#connected();
    const backlog = await calls.backlog();
    calls.initialState = initialState;
    return backlog;
  }

  async #connected(): Promise<Opened> {
    this.#opening ??= this.#connect();
    try {
      return await this.#opening;
    } catch (error) {
      // The next call tries again.
      this.#opening = undefined;
      throw error;
    }
  }

  async #connect(): Promise<Opened> {
    const { schema, listen, callTimeoutMs } = this.#options;
    const database = await openDatabase(this.#options, this.#surroundings);
    const calls = new Calls(database, this.#options);
    const flusher = new CounterFlusher((notifies) =>
      calls.flushCounters(notifies && listen ? schema : null, this.#caller),
    );
    const batcher = new EnqueueBatcher({
      store: (entries, delayMs, timeoutMs) => calls.enqueue(entries, delayMs, timeoutMs),
      callTimeoutMs,
      monotonicMs: () => this.#surroundings.clock.monotonicMs(),
    });
    this.#notifier.open(listen ? () => database.newClient() : undefined);
    this.#opened = { database, calls, flusher, batcher };
    return this.#opened;
  }

  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    return await this.#run(async ({ flusher, batcher }) => {
      if (entries.length === 0) return { sequences: [], closed: [] };
      const enqueued = await batcher.enqueue(entries, delayMs);
      this.#notifyAll(flusher);
      return enqueued;
    });
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    return await this.#run(async ({ calls, flusher }) => {
      const { clock } = this.#surroundings;
      const endsAt = clock.monotonicMs() + this.#options.callTimeoutMs;
      const attempt = () => calls.claim(request, Math.max(1, endsAt - clock.monotonicMs()));
      // A flush locks applications, and a claim skips locked ones: they would lose their turn.
      await flusher.done();
      let { claimed, hasDeltas } = await attempt();
      if (hasDeltas) {
        flusher.request(false);
        if (!('messages' in claimed)) {
          await flusher.done();
          ({ claimed, hasDeltas } = await attempt());
        }
      }
      if ('messages' in claimed) this.#keep(claimed.id, request.leaseMs);
      return claimed;
    });
  }

  #keep(id: string, leaseMs: number): void {
    this.#claims.keep(id, { now: this.#surroundings.clock.monotonicMs(), leaseMs });
  }

  async settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    const count = await this.#with(claim, async (name, { calls, flusher }) => {
      const settled = await calls.settle(name, results, state);
      // Dispatchers of the other tier can be idle while all of this process are busy.
      if (state.tier !== claim.state.tier) flusher.request(true);
      return settled;
    });
    if (count !== undefined && count !== results.length) {
      const detail = `${results.length} results for ${count} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    this.#ended(claim);
    return count === undefined ? 'lost' : 'settled';
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const isReleased = await this.#with(claim, async (name, { calls, flusher }) => {
      const wasLive = await calls.release(name, state);
      if (wasLive) flusher.request(true);
      return wasLive;
    });
    this.#ended(claim);
    return isReleased === true ? 'released' : 'lost';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const isExtended = await this.#with(claim, (name, { calls }) => calls.extend(name, leaseMs));
    if (isExtended !== true) return 'lost';
    this.#keep(claim.id, leaseMs);
    return 'extended';
  }

  /** Resolves to `undefined` if no claim has this id. */
  async #with<T>(
    claim: Claim,
    work: (name: ClaimName, opened: Opened) => Promise<T>,
  ): Promise<T | undefined> {
    return await this.#run(async (opened) => {
      const name = claimName(claim);
      return name === undefined ? undefined : await work(name, opened);
    });
  }

  /** Does not notify other processes: this one has a slot for what is left, and they poll. */
  #ended({ id }: Claim): void {
    this.#claims.delete(id);
    this.#notifier.notify();
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return await this.#run(({ calls }) => calls.expire(olderThanMs, maxMessages));
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    return await this.#run(({ calls }) => calls.countPending(ranges));
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    return await this.#run(({ calls }) => calls.applicationState(applicationId));
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    return await this.#run(({ calls }) => calls.closeApplication(applicationId, maxMessages));
  }

  async reopenApplication(applicationId: string): Promise<void> {
    await this.#run(async ({ calls, flusher }) => {
      await calls.reopen(applicationId);
      this.#notifyAll(flusher);
    });
  }

  async listDeadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<DeadLetterPage> {
    return await this.#run(({ calls }) => calls.deadLetters(page));
  }

  async replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#run(async ({ calls, flusher }) => {
      const replayed = await calls.replay(filter);
      if (replayed > 0) this.#notifyAll(flusher);
      return replayed;
    });
  }

  async purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#run(async ({ calls, flusher }) => {
      const purged = await calls.purge(filter);
      flusher.request(false);
      return purged;
    });
  }

  async exportItems(kind: ItemKind, after: number): Promise<readonly QueueItem[]> {
    return await this.#run(({ calls }) => calls.exportItems(kind, after));
  }

  async importItems(items: readonly QueueItem[]): Promise<number> {
    return await this.#run(async ({ calls, flusher }) => {
      return await calls.importItems(items).finally(() => this.#notifyAll(flusher));
    });
  }

  async stats(): Promise<QueueStats> {
    return await this.#run(({ calls }) => calls.stats());
  }

  onDue(listener: () => void): () => void {
    return this.#notifier.onDue(listener);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  /** Waits for calls that have begun. Claims that are left were not sent (law 8). */
  async #end(): Promise<QueueClosing> {
    this.#notifier.stop();
    const open = await this.#opening?.catch(() => undefined);
    if (open === undefined) return { returned: [], left: 0 };
    const { database, calls, flusher } = open;
    try {
      await Promise.allSettled(this.#running);
      const claims = this.#claims.names.map((name) => calls.release(name));
      const released = await Promise.allSettled(claims);
      if (claims.length > 0) flusher.request(true);
      await flusher.done();
      const failed = released.find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
      return { returned: [], left: await calls.pending() };
    } finally {
      await database.end();
    }
  }

  /** `close` waits for calls that have begun. */
  async #run<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#opened?.calls.initialState === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const running = work(this.#opened);
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  #notifyAll(flusher: CounterFlusher): void {
    flusher.request(true);
    this.#notifier.notify();
  }
}
