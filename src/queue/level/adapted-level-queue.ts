import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  EnqueueResult,
  ExpiredMessage,
  MessageQueue,
  MessageResult,
  NothingDue,
  QueueClosing,
  QueueEntry,
  QueueStats,
  SequenceRange,
} from '../queue.ts';
import type { PageRequest } from './cemetery.ts';
import type { LevelIncidents } from './incidents.ts';
import type { LevelQueue } from './level-queue.ts';
import type * as Old from './old-contract.ts';

/** Translates the contract of today for {@link LevelQueue}, which keeps a sequence as an origin's number. */
export class AdaptedLevelQueue implements MessageQueue {
  readonly durability: 'power-loss' | 'process-crash';
  readonly incidents: LevelIncidents;
  readonly #queue: LevelQueue;
  #hasDelayed = false;

  constructor(queue: LevelQueue) {
    this.#queue = queue;
    this.durability = queue.durability;
    this.incidents = queue.incidents;
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    await this.#queue.open(rowOf(initialState));
    const dueMessages = await this.#queue.countDue();
    return { dueMessages, lastSequence: this.#queue.lastSequence };
  }

  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    const first = this.#queue.nextSequence(entries.length);
    const past = { sends: 0, ageMs: 0, dueInMs: delayMs, progress: null };
    const given = entries.map(
      ({ applicationId, stored, sizeBytes }, index): Old.QueueEntry => ({
        applicationId,
        stored,
        sizeBytes,
        origin: { senderId: '', number: first + index },
        ...(delayMs > 0 ? { past } : {}),
      }),
    );
    const { closed } = await this.#queue.enqueue(given);
    const open = given.filter(({ applicationId }) => !closed.includes(applicationId));
    this.#hasDelayed ||= delayMs > 0;
    await this.#endDelays(open.map(({ applicationId }) => applicationId));
    return { sequences: open.map(({ origin }) => origin.number), closed };
  }

  /** What it cannot do now is due later. */
  async #endDelays(applicationIds: readonly string[]): Promise<void> {
    if (this.#hasDelayed) await this.#queue.endDelays(new Set(applicationIds)).catch(() => {});
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const claimed = await this.#queue.claim(request);
    if (!('messages' in claimed)) return claimed;
    const { row, now, messages, ...claim } = claimed;
    return {
      ...claim,
      state: stateOf(row),
      nowMs: now,
      messages: messages.map(({ origin, ...message }) => ({ sequence: origin.number, ...message })),
    };
  }

  async settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    const settled = await this.#queue.settle(oldClaim(claim), results.map(verdictOf), {
      ...rowOf(state),
      waitMs: state.pauseMs,
    });
    await this.#endDelays([claim.applicationId]);
    return settled;
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const row = state === undefined ? undefined : { ...rowOf(state), waitMs: state.pauseMs };
    const released = await this.#queue.release(oldClaim(claim), row);
    await this.#endDelays([claim.applicationId]);
    return released;
  }

  extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    return this.#queue.extend(oldClaim(claim), leaseMs);
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return (await this.#queue.expire(olderThanMs, maxMessages)).map(expiredOf);
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    const isMeant = (sequence: number): boolean =>
      ranges.some(({ from, to }) => from <= sequence && sequence <= to);
    return (await this.#queue.pendingNumbers()).filter(isMeant).length;
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    const row = await this.#queue.application(applicationId);
    return row && stateOf(row);
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    return (await this.#queue.closeApplication(applicationId, maxMessages)).map(expiredOf);
  }

  reopenApplication(applicationId: string): Promise<void> {
    return this.#queue.reopen(applicationId);
  }

  async listDeadLetters(page: PageRequest): Promise<DeadLetterPage> {
    const { items, ...next } = await this.#queue.deadLetters(page);
    return {
      items: items.map(letterOf),
      ...next,
    };
  }

  replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return this.#queue.replay(filter);
  }

  purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return this.#queue.purge(filter);
  }

  stats(): Promise<QueueStats> {
    return this.#queue.stats();
  }

  onDue(listener: () => void): () => void {
    return this.#queue.onDue(listener);
  }

  async close(): Promise<QueueClosing> {
    const { left } = await this.#queue.close();
    return { returned: [], left };
  }
}

const rowOf = ({ circuitBreaker, ...state }: ApplicationState): Old.ApplicationRow => ({
  ...state,
  lane: circuitBreaker,
});

const stateOf = ({ lane, ...row }: Old.ApplicationRow): ApplicationState => ({
  ...row,
  circuitBreaker: lane,
});

/** The queue looks only at what names a claim. */
const oldClaim = ({ state, nowMs, ...claim }: Claim): Old.Claim => ({
  ...claim,
  row: rowOf(state),
  now: nowMs,
  messages: [],
});

function verdictOf(result: MessageResult): Old.Verdict {
  if (result.kind === 'delivered') return result;
  if (result.kind === 'dead') return { ...result, end: result.lastAttempt };
  return { ...result, kind: 'again' };
}

function letterOf(letter: Old.DeadLetter): DeadLetter {
  const { id, applicationId, stored, sizeBytes, sends, reason, end, acceptedAt, diedAt } = letter;
  const message = { id, applicationId, stored, sizeBytes, sends };
  return { ...message, reason, lastAttempt: end, acceptedAt, diedAt };
}

const expiredOf = ({ origin, ...message }: Old.ExpiredMessage): ExpiredMessage => ({
  ...message,
  sequence: origin.number,
});
