import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../system/clock.ts';
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
import { Calls } from './calls.ts';
import { type ClaimName, claimName, claimOf, nothingOf } from './claims.ts';
import type { Database } from './database.ts';
import type { PageRequest } from './dead-letter-rows.ts';
import { Doorbell } from './doorbell.ts';
import { Folding } from './folding.ts';
import { Intake } from './intake.ts';
import { exportItems, importItems } from './items.ts';
import type { LoadPg } from './load-pg.ts';
import type { ReadOptions } from './postgres-options.ts';
import { opened } from './schema.ts';

export interface Surroundings {
  readonly clock: Pick<Clock, 'idle'>;
  readonly newId: () => string;
  readonly load: LoadPg;
}

interface Opened {
  readonly database: Database;
  readonly calls: Calls;
  readonly folding: Folding;
  readonly intake: Intake;
}

type Session = Opened & { readonly initialState: ApplicationState };

export class PostgresQueue implements MessageQueue {
  readonly #options: ReadOptions;
  readonly #surroundings: Surroundings;
  readonly #doorbell: Doorbell;
  /** Names this handle among those that ring. */
  readonly #caller: string;
  #durability: Durability = 'process-crash';
  #initialState: ApplicationState | undefined;
  #opening: Promise<Opened> | undefined;
  #closing: Promise<QueueClosing> | undefined;
  /** Calls that are not over. */
  readonly #running = new Set<Promise<unknown>>();
  /** What this handle claimed and did not settle. */
  readonly #claims = new Map<string, Claim>();

  constructor(options: ReadOptions, surroundings: Surroundings) {
    const { pollMs, schema } = options;
    const { clock, newId } = surroundings;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#caller = newId();
    this.#doorbell = new Doorbell({ clock, pollMs, channel: schema, caller: this.#caller });
  }

  /** As the server's settings were when it was opened; before, the least that they can be. */
  get durability(): Durability {
    return this.#durability;
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    const { calls } = await this.#connected();
    const backlog = await calls.backlog();
    this.#initialState = initialState;
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
    const { schema, listen } = this.#options;
    const { database, durability } = await opened(this.#options, this.#surroundings.load);
    this.#durability = durability;
    const calls = new Calls(database, this.#options);
    const folding = new Folding((rings) =>
      calls.fold(rings && listen ? schema : null, this.#caller),
    );
    const intake = new Intake((entries, delayMs) =>
      calls.enqueue(entries, delayMs, this.#initialState as ApplicationState),
    );
    this.#doorbell.open(listen ? database.newClient : undefined);
    return { database, calls, folding, intake };
  }

  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    return await this.#run(async ({ folding, intake }) => {
      if (entries.length === 0) return { sequences: [], closed: [] };
      const enqueued = await intake.enqueue(entries, delayMs);
      this.#tell(folding);
      return enqueued;
    });
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    return await this.#run(async ({ calls, folding }) => {
      // Of what this process brought in it must not be said that it is not there.
      await folding.done();
      let answer = await calls.claim(request);
      if (answer['unfolded'] === true) {
        folding.ask(false);
        if (answer['claim'] === null) {
          await folding.done();
          answer = await calls.claim(request);
        }
      }
      if (answer['claim'] === null) return nothingOf(answer);
      const claim = claimOf(answer);
      this.#claims.set(claim.id, claim);
      return claim;
    });
  }

  async settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    const isSettled = await this.#with(claim, async (name, { calls, folding }) => {
      const isLive = await calls.settle(name, results, state);
      // There all of ours may be busy, and others idle.
      if (state.tier !== claim.state.tier) folding.ask(true);
      return isLive;
    });
    this.#ended(claim);
    return isSettled === true ? 'settled' : 'lost';
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const isReleased = await this.#with(claim, async (name, { calls, folding }) => {
      const isDue = await calls.release(name, state);
      if (isDue) folding.ask(true);
      return isDue;
    });
    this.#ended(claim);
    return isReleased === true ? 'released' : 'lost';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const isLive = await this.#with(claim, (name, { calls }) => calls.extend(name, leaseMs));
    return isLive === true ? 'extended' : 'lost';
  }

  /** `undefined` where no claim is called so. */
  #with<T>(
    claim: Claim,
    work: (name: ClaimName, session: Session) => Promise<T>,
  ): Promise<T | undefined> {
    return this.#run(async (session) => {
      const name = claimName(claim);
      return name === undefined ? undefined : await work(name, session);
    });
  }

  /** Other processes are not told: who settled has a slot for what is left, and they look now and then. */
  #ended({ id }: Claim): void {
    this.#claims.delete(id);
    this.#doorbell.ring();
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
    return await this.#run(({ calls, initialState }) =>
      calls.closeApplication(applicationId, initialState, maxMessages),
    );
  }

  async reopenApplication(applicationId: string): Promise<void> {
    await this.#run(async ({ calls, folding, initialState }) => {
      await calls.reopen(applicationId, initialState);
      this.#tell(folding);
    });
  }

  async listDeadLetters(page: PageRequest): Promise<DeadLetterPage> {
    return await this.#run(({ calls }) => calls.deadLetters(page));
  }

  async replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#run(async ({ calls, folding }) => {
      const replayed = await calls.replay(filter);
      if (replayed > 0) this.#tell(folding);
      return replayed;
    });
  }

  async purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return await this.#run(async ({ calls, folding }) => {
      const purged = await calls.purge(filter);
      folding.ask(false);
      return purged;
    });
  }

  async *exportItems(): AsyncGenerator<ApplicationItem | MessageItem> {
    yield* await this.#run(async ({ database }) => exportItems(database));
  }

  async importItems(items: readonly KeyedItem[]): Promise<number> {
    return await this.#run(async ({ database, folding, initialState }) => {
      const bounds = this.#options;
      const stored = await importItems(database, items, { initialState, bounds });
      this.#tell(folding);
      return stored;
    });
  }

  async stats(): Promise<QueueStats> {
    return await this.#run(({ calls }) => calls.stats());
  }

  onDue(listener: () => void): () => void {
    return this.#doorbell.onRing(listener);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  /** What was begun is done first; what is claimed was not sent (law 8). */
  async #end(): Promise<QueueClosing> {
    this.#doorbell.stop();
    const open = await this.#opening?.catch(() => undefined);
    if (open === undefined) return { returned: [], left: 0 };
    const { database, calls, folding } = open;
    try {
      await Promise.allSettled(this.#running);
      for (const claim of this.#claims.values()) {
        await calls.release(claimName(claim) as ClaimName);
      }
      // What is left is for others now.
      folding.ask(true);
      await folding.done();
      return { returned: [], left: await calls.waiting() };
    } finally {
      await database.end();
    }
  }

  /** `close` waits for what was begun. */
  async #run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const initialState = this.#initialState;
    if (initialState === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const running = this.#connected().then((open) => work({ ...open, initialState }));
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  #tell(folding: Folding): void {
    folding.ask(true);
    this.#doorbell.ring();
  }
}
