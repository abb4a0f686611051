import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../system/clock.ts';
import type {
  ApplicationRow,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  Durability,
  Enqueued,
  ExpiredMessage,
  MessageQueue,
  Moved,
  Nothing,
  QueueClosing,
  QueueEntry,
  QueueStats,
  RowUpdate,
  Verdict,
} from '../queue.ts';
import { type Beginning, Calls } from './calls.ts';
import { type ClaimName, claimName, claimOf, nothingOf } from './claims.ts';
import { connected, Database } from './database.ts';
import type { PageRequest } from './dead-letter-rows.ts';
import { Doorbell } from './doorbell.ts';
import { Folding } from './folding.ts';
import { PostgresIncidents } from './incidents.ts';
import { Intake } from './intake.ts';
import type { LoadPg } from './load-pg.ts';
import type { ReadOptions } from './postgres-options.ts';
import { lookedAt } from './schema.ts';

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

interface Session extends Opened, Beginning {}

export class PostgresQueue implements MessageQueue {
  /** In the same database; usable before `open`, until `close`. */
  readonly incidents = new PostgresIncidents((work) => this.#reached(work));
  readonly #options: ReadOptions;
  readonly #surroundings: Surroundings;
  readonly #doorbell: Doorbell;
  /** Names this handle among those that ring. */
  readonly #caller: string;
  #durability: Durability = 'process-crash';
  #beginning: Beginning | undefined;
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

  async open(row: ApplicationRow, lingerMs = 0): Promise<void> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    await this.#connected();
    this.#beginning = { row, lingerMs };
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
    const database = new Database(
      await connected(this.#options, this.#surroundings.load),
      this.#options,
    );
    try {
      this.#durability = await lookedAt(database, schema);
    } catch (error) {
      await database.end();
      throw error;
    }
    const calls = new Calls(database, this.#options);
    const folding = new Folding((rings) =>
      calls.fold(rings && listen ? schema : null, this.#caller),
    );
    const intake = new Intake((entries) => calls.enqueue(entries, this.#beginning as Beginning));
    this.#doorbell.open(listen ? database.newClient : undefined);
    return { database, calls, folding, intake };
  }

  async enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    return await this.#run(async ({ folding, intake }) => {
      if (entries.length === 0) return { closed: [] };
      const enqueued = await intake.enqueue(entries);
      this.#tell(folding);
      return enqueued;
    });
  }

  async claim(request: ClaimRequest): Promise<Claim | Nothing> {
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
      const claim = claimOf(answer, request.early === true);
      this.#claims.set(claim.id, claim);
      return claim;
    });
  }

  async settle(
    claim: Claim,
    verdicts: readonly (Verdict | Moved)[],
    row: RowUpdate,
  ): Promise<'settled' | 'lost'> {
    const claimed = await this.#with(claim, async (name, { calls, lingerMs, folding }) => {
      const count = await calls.settle(name, verdicts, { ...row, lingerMs });
      // There all of ours may be busy, and others idle.
      if (row.tier !== claim.row.tier) folding.ask(true);
      return count;
    });
    if (claimed !== undefined && claimed !== verdicts.length) {
      const detail = `${verdicts.length} verdicts for ${claimed} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    this.#ended(claim);
    return claimed === undefined ? 'lost' : 'settled';
  }

  async release(claim: Claim, row?: RowUpdate): Promise<'released' | 'lost'> {
    const isReleased = await this.#with(claim, async (name, { calls, folding }) => {
      const isDue = await calls.release(name, row);
      if (isDue) folding.ask(true);
      return isDue;
    });
    this.#ended(claim);
    return isReleased === true ? 'released' : 'lost';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const isExtended = await this.#with(claim, (name, { calls }) => calls.extend(name, leaseMs));
    return isExtended === true ? 'extended' : 'lost';
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

  async application(applicationId: string): Promise<ApplicationRow | undefined> {
    return await this.#run(({ calls }) => calls.application(applicationId));
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    return await this.#run((session) =>
      session.calls.closeApplication(applicationId, session, maxMessages),
    );
  }

  async reopen(applicationId: string): Promise<void> {
    await this.#run(async ({ calls, folding, row }) => {
      await calls.reopen(applicationId, row);
      this.#tell(folding);
    });
  }

  async deadLetters(page: PageRequest): Promise<DeadLetterPage> {
    return await this.#run(({ calls }) => calls.deadLetters(page));
  }

  async replay(filter: DeadLetterFilter): Promise<number> {
    return await this.#run(async ({ calls, folding }) => {
      const replayed = await calls.replay(filter);
      if (replayed > 0) this.#tell(folding);
      return replayed;
    });
  }

  async purge(filter: DeadLetterFilter, as: 'purged' | 'moved' = 'purged'): Promise<number> {
    return await this.#run(async ({ calls, folding }) => {
      const purged = await calls.purge(filter, as);
      folding.ask(false);
      return purged;
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
    const opened = await this.#opening?.catch(() => undefined);
    if (opened === undefined) return { returned: [], left: 0 };
    const { database, calls, folding } = opened;
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

  async #run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const beginning = this.#beginning;
    if (beginning === undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#while((opened) => work({ ...opened, ...beginning }));
  }

  #reached<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#while(({ database }) => work(database));
  }

  /** `close` waits for what was begun. */
  async #while<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    const running = this.#connected().then(work);
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  #tell(folding: Folding): void {
    folding.ask(true);
    this.#doorbell.ring();
  }
}
