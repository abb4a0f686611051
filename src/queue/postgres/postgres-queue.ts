import { SecurityEventError } from '../../errors.ts';
import { CallsInProgress } from '../../runtime/calls-in-progress.ts';
import type {
  ApplicationState,
  Backlog,
  DeadLetteredMessage,
  Durability,
  DurableQueue,
  MessageQueue,
  QueueClosing,
  QueueItem,
} from '../queue.ts';
import { cursorNumber, toText, toWhole } from '../stored-values.ts';
import { Claims } from './claims.ts';
import {
  deadLetteredOf,
  deadLetterPage,
  filterArguments,
  type StateJson,
  stateJson,
  stateOf,
  statsOf,
  toDuration,
} from './conversions.ts';
import { CounterFlusher } from './counter-flusher.ts';
import { Database } from './database.ts';
import {
  checkIds,
  enqueueBatcher,
  type Limits,
  type Overflow,
  overflowError,
  storeEntries,
} from './enqueue.ts';
import { Notifier } from './notifier.ts';
import type { ReadOptions } from './options.ts';
import type { ServersParts } from './servers.ts';

export interface QueueParts extends ServersParts {
  readonly newId: () => string;
}

/** A queue in a database. Most methods are typed by the contract, which declares their parameters. */
export class PostgresQueue implements DurableQueue {
  readonly #options: ReadOptions;
  readonly #database: Database;
  readonly #claims: Claims;
  readonly #flusher: CounterFlusher;
  readonly #enqueues: ReturnType<typeof enqueueBatcher>;
  readonly #notifier: Notifier;
  /** The state of an application before its first settle. Undefined until the queue is open. */
  #initialState: StateJson | undefined;
  #closing: Promise<QueueClosing> | undefined;
  /** Calls that have not ended. */
  readonly #running = new CallsInProgress();

  constructor(options: ReadOptions, parts: QueueParts) {
    const { pollMs, schema, callTimeoutMs, maxConnections, listen } = options;
    const { clock, newId } = parts;
    const times = { callTimeoutMs, monotonicMs: (): number => clock.monotonicMs() };
    // Identifies this queue in notifications, which it ignores if they are its own.
    const caller = newId();
    this.#options = options;
    const database = new Database(options, parts);
    this.#database = database;
    const flusher = new CounterFlusher((notifies) => {
      const channel = notifies && listen ? schema : null;
      return database.call('flush_counters', { channel, caller });
    }, times);
    this.#flusher = flusher;
    this.#enqueues = enqueueBatcher({
      run: (calls, timeoutMs) => storeEntries(calls, this.#limits(), { database, timeoutMs }),
      ...times,
    });
    this.#claims = new Claims({ database, flusher, maxConnections, ...times });
    this.#notifier = new Notifier({ clock, pollMs, callTimeoutMs, channel: schema, caller });
  }

  /** Depends on the server's settings, as last read; `process-crash` before that. */
  get durability(): Durability {
    return this.#database.durability;
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    return await this.#track(async () => {
      await this.#database.connect();
      const backlog = (await this.#database.call('backlog')) as Backlog;
      this.#initialState = stateJson(initialState);
      this.#notifier.open(() => (this.#options.listen ? this.#database.newClient() : undefined));
      return backlog;
    });
  }

  readonly enqueue: MessageQueue['enqueue'] = (entries, delayMs = 0) =>
    this.#run(async () => {
      if (entries.length === 0) return { sequences: [], closed: [] };
      checkIds(entries);
      const enqueued = await this.#enqueues.run({ entries, delayMs });
      this.#notifyAll();
      return enqueued;
    });

  #limits(): Limits {
    const { maxPendingMessages, maxPendingBytes } = this.#options;
    return { maxPendingMessages, maxPendingBytes, initialState: this.#initialState };
  }

  readonly claim: MessageQueue['claim'] = (request) => this.#run(() => this.#claims.claim(request));

  // Does not notify other processes: this one now has a free slot for the remaining messages.
  readonly settle: MessageQueue['settle'] = async (...given) => {
    const settled = await this.#run(() => this.#claims.settle(...given));
    this.#notifier.notify();
    return settled;
  };

  readonly release: MessageQueue['release'] = async (...given) => {
    const released = await this.#run(() => this.#claims.release(...given));
    this.#notifier.notify();
    return released;
  };

  readonly extend: MessageQueue['extend'] = (...given) =>
    this.#run(() => this.#claims.extend(...given));

  readonly deadLetterOlderThan: MessageQueue['deadLetterOlderThan'] = (olderThanMs, maxMessages) =>
    this.#run(() =>
      this.#deadLetter({ olderThanMs: toDuration(olderThanMs), limit: toWhole(maxMessages) }),
    );

  async #deadLetter(args: object): Promise<DeadLetteredMessage[]> {
    const expired = deadLetteredOf(await this.#database.rows('dead_letter_unclaimed', args));
    if (expired.length > 0) this.#flusher.request(false);
    return expired;
  }

  readonly countPending: MessageQueue['countPending'] = (ranges) =>
    this.#run(async () => {
      const args = { froms: ranges.map(({ from }) => from), tos: ranges.map(({ to }) => to) };
      return Number(await this.#database.call('count_pending', args));
    });

  readonly applicationState: MessageQueue['applicationState'] = (applicationId) =>
    this.#run(async () => {
      const id = toText(applicationId);
      const answer = await this.#database.call('application_state', { id });
      return answer === undefined ? undefined : stateOf(answer as StateJson);
    });

  readonly deadLetterClosed: MessageQueue['deadLetterClosed'] = (applicationId, maxMessages) =>
    this.#run(() =>
      this.#deadLetter({ closed: toText(applicationId), limit: toWhole(maxMessages) }),
    );

  readonly reopenApplication: MessageQueue['reopenApplication'] = (applicationId) =>
    this.#run(async () => {
      const args = { id: toText(applicationId), initialState: this.#initialState };
      await this.#database.call('reopen_application', args);
      this.#notifyAll();
    });

  readonly listDeadLetters: MessageQueue['listDeadLetters'] = (page) =>
    this.#run(async () => {
      const { limit, after } = page;
      const args = {
        ...filterArguments(page),
        after: cursorNumber(after),
        limit: toWhole(limit) + 1,
      };
      return deadLetterPage(await this.#database.rows('dead_letters', args), limit);
    });

  readonly replayDeadLetters: MessageQueue['replayDeadLetters'] = (filter) =>
    this.#run(async () => {
      const args = { ...filterArguments(filter), ...this.#limits() };
      const replayed = await this.#database.callInPages('replay_dead_letters', args);
      if (replayed > 0) this.#notifyAll();
      return replayed;
    });

  readonly purgeDeadLetters: MessageQueue['purgeDeadLetters'] = (filter) =>
    this.#run(async () => {
      const purged = await this.#database.callInPages(
        'purge_dead_letters',
        filterArguments(filter),
      );
      this.#flusher.request(false);
      return purged;
    });

  readonly exportItems: DurableQueue['exportItems'] = (kind, after) =>
    this.#run(async () => {
      const items = await this.#database.rows<QueueItem | null>('export_items', { kind, after });
      if (!items.includes(null)) return items as QueueItem[];
      const detail = 'messages are claimed: close the senders, or wait until the leases expire';
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    });

  readonly importItems: DurableQueue['importItems'] = (items) =>
    this.#run(async () => {
      const importing = this.#database.call('import_items', { items, ...this.#limits() });
      const answer = (await importing.finally(() => this.#notifyAll())) as number | Overflow | null;
      if (answer === null) return undefined;
      if (typeof answer === 'object') throw overflowError(answer, this.#limits());
      return answer;
    });

  readonly stats: MessageQueue['stats'] = () =>
    this.#run(async () => {
      // A flush can end delays early, which changes since when messages have been due.
      await this.#flusher.done();
      return statsOf(await this.#database.rows('stats'));
    });

  onDue(listener: () => void): () => void {
    return this.#notifier.onDue(listener);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  /** Waits for calls that have begun, and releases the claims that were not sent (law 8). */
  async #end(): Promise<QueueClosing> {
    this.#notifier.stop();
    try {
      await this.#running.waitForAll();
      if (this.#initialState === undefined) return { returned: [], remaining: 0 };
      try {
        await this.#claims.releaseAll();
      } finally {
        await this.#flusher.done();
      }
      return { returned: [], remaining: Number(await this.#database.call('pending_messages')) };
    } finally {
      await this.#database.end();
    }
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#initialState === undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#track(work);
  }

  /** `close` waits for calls that have begun. */
  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#running.track(work());
  }

  #notifyAll(): void {
    this.#flusher.request(true);
    this.#notifier.notify();
  }
}
