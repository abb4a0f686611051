/** What a memory queue holds. Each method keeps the ledger balanced. */

import { SecurityEventError } from '../../errors.ts';
import { ownProperties } from '../../own-properties.ts';
import type {
  ApplicationState,
  DeadLetterFilter,
  DeadReason,
  DiscardReason,
  ExpiredMessage,
  Json,
  Ledger,
  MessageResult,
  QueueEntry,
  QueueStats,
  ReturnedMessage,
  SequenceRange,
  StoredMessage,
  Tier,
} from '../queue.ts';
import { Application, type LiveClaim } from './application.ts';
import { DeadLetters } from './dead-letters.ts';
import type { QueueTime } from './queue-time.ts';
import { Schedule } from './schedule.ts';
import { storedMessages, type WaitingMessage, waitingMessages } from './waiting-messages.ts';

/** Bounds of a memory queue, in messages and bytes. */
export interface MemoryBounds {
  readonly maxPendingMessages: number;
  readonly maxPendingBytes: number;
  readonly maxDeadBytes: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_BOUNDS: MemoryBounds = {
  maxPendingBytes: 64 * MIB,
  maxPendingMessages: 100_000,
  maxDeadBytes: 16 * MIB,
};

/** How entries are accepted. */
interface Acceptance {
  readonly initialState: ApplicationState;
  readonly delayMs: number;
  readonly at: QueueTime;
}

interface Owned {
  readonly application: Application;
  readonly message: WaitingMessage;
}

interface Death {
  readonly reason: DeadReason;
  readonly lastAttempt: Json;
}

export class MemoryStore {
  readonly dead: DeadLetters;
  readonly schedule = new Schedule<Application>();
  lastSequence = 0;
  readonly #applications = new Map<string, Application>();
  readonly #bounds: MemoryBounds;
  /** Pending messages and their bytes, from acceptance until they are settled or discarded. */
  #messages = 0;
  #bytes = 0;

  constructor(bounds: MemoryBounds) {
    this.#bounds = bounds;
    this.dead = new DeadLetters(bounds.maxDeadBytes);
  }

  find(applicationId: string): Application | undefined {
    return this.#applications.get(applicationId);
  }

  ensure(applicationId: string, initialState: ApplicationState): Application {
    const known = this.#applications.get(applicationId);
    if (known !== undefined) return known;
    const application = new Application(applicationId, initialState);
    this.#applications.set(applicationId, application);
    return application;
  }

  all(): Iterable<Application> {
    return this.#applications.values();
  }

  /** Counts messages as pending. Throws ERR_QUEUE_FULL and counts none if they pass a bound. */
  reserve(messages: number, bytes: number): void {
    const bound = this.#passedBound(messages, bytes);
    if (bound !== undefined) {
      const detail = `${messages} messages of ${bytes} bytes would pass ${bound} (${this.#bounds[bound]})`;
      throw new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
    }
    this.#addPending(messages, bytes);
  }

  #passedBound(messages: number, bytes: number) {
    const { maxPendingMessages, maxPendingBytes } = this.#bounds;
    if (this.#messages + messages > maxPendingMessages) return 'maxPendingMessages';
    return this.#bytes + bytes > maxPendingBytes ? 'maxPendingBytes' : undefined;
  }

  #addPending(messages: number, bytes: number): void {
    this.#messages += messages;
    this.#bytes += bytes;
  }

  /** Stores entries that are counted already. Returns their sequences. */
  accept(entries: readonly QueueEntry[], { initialState, delayMs, at }: Acceptance): number[] {
    const sequences: number[] = [];
    const { nowMs } = at;
    const dueMs = at.after(delayMs);
    while (sequences.length < entries.length) {
      const start = sequences.length;
      const sequence = this.lastSequence + 1;
      const application = this.ensure((entries[start] as QueueEntry).applicationId, initialState);
      for (const message of waitingMessages(entries, start, { sequence, nowMs, dueMs })) {
        application.waiting.append(message);
        sequences.push(message.sequence);
      }
      this.lastSequence = sequences.at(-1) as number;
      application.counts.accepted += sequences.length - start;
      this.update(application, nowMs);
    }
    return sequences;
  }

  /** Call it after each change to an application's messages, state or claim. */
  update(application: Application, nowMs: number): void {
    application.endDelaysIfFull(nowMs);
    this.schedule.update(application, nowMs);
  }

  /** Applies one result to each message of a claim. */
  settle(claim: LiveClaim, results: readonly MessageResult[], at: QueueTime): void {
    const { application, messages, sizeBytes } = claim;
    // `findIndex` visits holes too. They are no results.
    if (results.findIndex((result) => result.kind !== 'delivered') === -1) {
      this.#addPending(-messages.length, -sizeBytes);
      application.counts.delivered += messages.length;
      return;
    }
    for (const [index, message] of messages.entries()) {
      const result = results[index] as MessageResult;
      if (result.kind === 'delivered') {
        this.#addPending(-1, -message.sizeBytes);
        application.counts.delivered += 1;
      } else if (result.kind === 'dead') {
        this.#moveToDeadLetters({ application, message }, result, at);
      } else {
        message.postpone(result, result.afterMs > 0 ? at.after(result.afterMs) : message.dueMs);
        application.waiting.putBack(message);
      }
    }
  }

  /** Makes dead letters of messages that were taken out of the waiting ones. */
  expire(
    application: Application,
    { messages, reason }: { messages: readonly WaitingMessage[]; reason: DeadReason },
    at: QueueTime,
  ): ExpiredMessage[] {
    const death = { reason, lastAttempt: null };
    for (const message of messages) this.#moveToDeadLetters({ application, message }, death, at);
    this.update(application, at.nowMs);
    const applicationId = application.id;
    return messages.map(({ messageId, sequence }) => ({
      applicationId,
      messageId,
      sequence,
    }));
  }

  #moveToDeadLetters(
    { application, message }: Owned,
    { reason, lastAttempt }: Death,
    at: QueueTime,
  ): void {
    this.#addPending(-1, -message.sizeBytes);
    const diedAt = at.epochMs;
    // From the message's age: the wall clock may have been set since it was accepted.
    const acceptedAt = diedAt - (at.nowMs - message.acceptedMs);
    this.dead.add({ application, message, reason, lastAttempt, acceptedAt, diedAt });
  }

  /** Makes dead letters due again, oldest first, within the bounds. */
  replay(filter: DeadLetterFilter, { nowMs }: QueueTime): number {
    const letters = this.dead.take(filter, ({ application, message }) => {
      if (application.isClosed || this.#passedBound(1, message.sizeBytes)) return false;
      this.#addPending(1, message.sizeBytes);
      return true;
    });
    for (const { application, message } of letters) {
      this.lastSequence += 1;
      message.renew({ sequence: this.lastSequence, nowMs, dueMs: nowMs });
      application.waiting.append(message);
      this.update(application, nowMs);
    }
    return letters.length;
  }

  /** Ends expired leases, and updates the schedule for what has become due. */
  advance(nowMs: number): void {
    for (;;) {
      const application = this.schedule.due(nowMs);
      if (application === undefined) return;
      if (application.claim !== undefined) {
        const { endsAtMs } = application.claim;
        application.putBackClaim(0);
        application.endDelaysIfFull(endsAtMs);
      }
      this.update(application, nowMs);
    }
  }

  /** Discards everything that waits as `returned`, in slices. A claimed message counts as not sent. */
  *empty(sliceMessages: number): Iterable<ReturnedMessage[]> {
    for (const application of this.all()) {
      application.putBackClaim(1);
      while (application.waiting.size > 0) {
        const messages = application.waiting.takeFirst(sliceMessages);
        const stored = storedMessages(messages);
        yield messages.map(({ sends, sequence, sizeBytes }, index) => {
          this.#addPending(-1, -sizeBytes);
          application.discard('returned');
          const applicationId = application.id;
          return { applicationId, sequence, stored: stored[index] as StoredMessage, sends };
        });
      }
      this.schedule.update(application, 0);
    }
  }

  /** Counts the messages in the ranges that wait or are claimed. */
  countPending(ranges: readonly SequenceRange[]): number {
    let count = 0;
    const add = ({ sequence }: WaitingMessage): void => {
      if (isIn(ranges, sequence)) count += 1;
    };
    for (const { waiting, claim } of this.all()) {
      for (const message of waiting) add(message);
      claim?.messages.forEach(add);
    }
    return count;
  }

  /** Counts all messages, and those that are due or claimed. */
  countPendingAndDue(nowMs: number) {
    let dueMessages = 0;
    for (const { waiting, claim } of this.all()) {
      dueMessages += claim?.messages.length ?? 0;
      for (const { dueMs } of waiting) if (dueMs <= nowMs) dueMessages += 1;
    }
    return { pendingMessages: this.#messages, dueMessages };
  }

  stats(nowMs: number): QueueStats {
    const applications = new Map<string, Ledger & { readonly tier: Tier }>();
    const total = { accepted: 0, delivered: 0, pending: 0, dead: 0 };
    const discarded: Partial<Record<DiscardReason, number>> = ownProperties({});
    let oldestDueMs = 0;
    for (const application of this.all()) {
      const ledger = application.ledger();
      applications.set(application.id, { ...ledger, tier: application.state.tier });
      for (const key of ['accepted', 'delivered', 'pending', 'dead'] as const) {
        total[key] += ledger[key];
      }
      for (const [reason, messages] of Object.entries(ledger.discarded)) {
        const key = reason as DiscardReason;
        discarded[key] = (discarded[key] ?? 0) + messages;
      }
      // Not since the first message is due: a pause that has just ended is no delay.
      const sinceMs = application.claimableAtMs();
      if (sinceMs !== undefined && this.schedule.isReady(application)) {
        oldestDueMs = Math.max(oldestDueMs, nowMs - sinceMs);
      }
    }
    const pendingBytes = this.#bytes;
    return { ...total, discarded: { ...discarded }, pendingBytes, oldestDueMs, applications };
  }
}

/** `ranges` ascend and do not overlap. */
function isIn(ranges: readonly SequenceRange[], sequence: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle] as SequenceRange).to < sequence) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range !== undefined && range.from <= sequence;
}
