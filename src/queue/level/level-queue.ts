import { SecurityEventError } from '../../errors.ts';
import type { Moment, QueueClock } from '../in-process/moment.ts';
import { queueStats } from '../in-process/queue-stats.ts';
import { Cemetery, type PageRequest } from './cemetery.ts';
import { Claims } from './claims.ts';
import { Ends } from './ends.ts';
import { INCIDENT_LIMITS } from './incident-rows.ts';
import { LevelIncidents, type Reach } from './incidents.ts';
import { Intake } from './intake.ts';
import type { LevelSettings } from './level-options.ts';
import { countDue, endDelays, readPendingNumbers } from './new-calls.ts';
import type {
  ApplicationRow,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
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
} from './old-contract.ts';
import { type LevelParts, LevelState } from './state.ts';

/**
 * Each change is made in memory in one go, with the operations that make it in the store, and counts
 * once those are written. What waits is not in memory: what reads and changes it has its application
 * for itself meanwhile.
 */
export class LevelQueue implements MessageQueue {
  readonly durability: 'power-loss' | 'process-crash';
  readonly #state: LevelState;
  readonly #intake: Intake;
  readonly #claims: Claims;
  readonly #ends: Ends;
  readonly #cemetery: Cemetery;
  readonly incidents: LevelIncidents;
  /** Those that are not over. */
  readonly #calls = new Set<Promise<unknown>>();
  #isOpen = false;
  #closing: Promise<QueueClosing> | undefined;

  constructor(options: LevelSettings, clock: QueueClock, parts: LevelParts) {
    this.durability = options.sync ? 'power-loss' : 'process-crash';
    this.#state = new LevelState(options, clock, parts);
    this.#intake = new Intake(this.#state, clock);
    this.#claims = new Claims(this.#state);
    this.#ends = new Ends(this.#state);
    this.#cemetery = new Cemetery(this.#state, options.maxDeadBytes);
    const reach: Reach = (work) => this.#reached(work);
    this.incidents = new LevelIncidents(
      this.#state,
      reach,
      parts.incidentLimits ?? INCIDENT_LIMITS,
    );
  }

  async open(initialRow: ApplicationRow, lingerMs = 0): Promise<void> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#state.setDefaults(initialRow, lingerMs);
    if (!this.#state.store.isUsable) await this.#counted(this.#state.open());
    this.#isOpen = true;
  }

  enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    return this.#burying((at) => this.#intake.enter(entries, at));
  }

  claim(request: ClaimRequest): Promise<Claim | Nothing> {
    return this.#call(() => this.#claims.claim(request));
  }

  async settle(
    claim: Claim,
    verdicts: readonly (Verdict | Moved)[],
    row: RowUpdate,
  ): Promise<'settled' | 'lost'> {
    const wasHeld = await this.#burying((at) => this.#claims.settle(claim, { verdicts, row }, at));
    return wasHeld ? 'settled' : 'lost';
  }

  async release(claim: Claim, row?: RowUpdate): Promise<'released' | 'lost'> {
    const wasHeld = await this.#call((at) => this.#claims.release(claim, row, at));
    return wasHeld ? 'released' : 'lost';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const isHeld = await this.#call(async (at) => this.#claims.extend(claim, leaseMs, at));
    return isHeld ? 'extended' : 'lost';
  }

  expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return this.#burying((at) => this.#ends.expire(olderThanMs, maxMessages, at));
  }

  application(applicationId: string): Promise<ApplicationRow | undefined> {
    return this.#call(async () => this.#state.content.find(applicationId)?.row);
  }

  closeApplication(applicationId: string, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return this.#burying(async (at) => {
      const application = this.#ends.close(applicationId, at);
      // What was admitted before it was closed comes in yet, and is not to wait for nobody.
      await this.#intake.entered();
      return await this.#ends.empty(application, maxMessages, at);
    });
  }

  reopen(applicationId: string): Promise<void> {
    return this.#call((at) => this.#ends.reopen(applicationId, at));
  }

  deadLetters(page: PageRequest): Promise<DeadLetterPage> {
    return this.#call(() => this.#cemetery.page(page));
  }

  /** As many as there is room for: the oldest of them. */
  replay(filter: DeadLetterFilter): Promise<number> {
    return this.#call(() => this.#intake.during(this.#cemetery.replay(filter)));
  }

  purge(filter: DeadLetterFilter, as: 'purged' | 'moved' = 'purged'): Promise<number> {
    return this.#call(() => this.#cemetery.purge(filter, as));
  }

  /** Gives the first of so many numbers. */
  nextSequence(count: number): number {
    const { content } = this.#state;
    content.lastSequence += count;
    return content.lastSequence - count + 1;
  }

  get lastSequence(): number {
    return this.#state.content.lastSequence;
  }

  /** Gives the numbers of the messages that wait or are claimed. */
  pendingNumbers(): Promise<number[]> {
    return this.#call(() => readPendingNumbers(this.#state.store));
  }

  /** Counts what is due. Right after it was opened nothing is claimed. */
  countDue(): Promise<number> {
    return this.#call(({ nowMs }) => countDue(this.#state, nowMs));
  }

  /** Makes delayed messages due where as many messages wait as one claim may have. */
  endDelays(applicationIds: ReadonlySet<string>): Promise<void> {
    return this.#call((at) => endDelays(this.#state, applicationIds, at));
  }

  /** Also after `close`: it tells what was left. */
  async stats(): Promise<QueueStats> {
    const isClosed = this.#closing !== undefined;
    const { nowMs } = isClosed ? this.#state.now() : await this.#call(async (at) => at);
    const { content } = this.#state;
    return queueStats({
      applications: content.all(),
      isClaimable: (application) => content.turns.isReady(application),
      pendingBytes: content.room.bytes,
      nowMs,
    });
  }

  onDue(listener: () => void): () => void {
    return this.#state.onDue(listener);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  /** What was begun is ended first. */
  async #end(): Promise<QueueClosing> {
    await Promise.allSettled(this.#calls);
    this.#state.silence();
    try {
      // After a failed write only the folder tells what is claimed, and what was not sent.
      if (this.#isOpen && !this.#state.store.isUsable) await this.#state.open().catch(() => {});
      await this.#claims.releaseAll();
    } finally {
      await this.#state.store.close();
    }
    const { content } = this.#state;
    return {
      returned: [],
      left: [...content.all()].reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  #call<T>(work: (at: Moment) => Promise<T>): Promise<T> {
    if (!this.#isOpen || this.#closing !== undefined) {
      return Promise.reject(new SecurityEventError('ERR_QUEUE_CLOSED'));
    }
    return this.#reached(work);
  }

  /** A reporter may have no sender that would open the queue. */
  #reached<T>(work: (at: Moment) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) {
      return Promise.reject(new SecurityEventError('ERR_QUEUE_CLOSED'));
    }
    return this.#counted(this.#state.begin(work));
  }

  #counted<T>(running: Promise<T>): Promise<T> {
    this.#calls.add(running);
    const isOver = (): void => void this.#calls.delete(running);
    running.then(isOver, isOver);
    return running;
  }

  /** Of a call that may make dead letters: those past the bytes for them go. */
  #burying<T>(work: (at: Moment) => Promise<T>): Promise<T> {
    return this.#call(async (at) => {
      const done = await work(at);
      // What was asked for is done: what could not be evicted now goes with the next ones.
      if (this.#cemetery.isFull) await this.#cemetery.evict().catch(() => {});
      return done;
    });
  }
}
