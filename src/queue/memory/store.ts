/** The contents of a memory queue. Each method leaves the ledger balanced. */

import { SecurityEventError } from '../../errors.ts';
import { integer, type OptionsOf, type OptionValues, option } from '../../option-rules.ts';
import type {
  ApplicationState,
  DeadLetteredMessage,
  DeadLetterFilter,
  DeadReason,
  MessageResult,
  QueueEntry,
  ReturnedMessage,
  StoredMessage,
} from '../queue.ts';
import { Application, type LiveClaim } from './application.ts';
import { DeadLetters, type Letter } from './dead-letters.ts';
import { copyMessages, storedMessages, type WaitingMessage } from './message.ts';
import { Schedule } from './schedule.ts';

export interface QueueTime {
  /** The queue's own time in whole milliseconds: V8 keeps small integers inside the message. */
  readonly nowMs: number;
  /** The wall clock, for what people see. No decision uses it. */
  readonly epochMs: number;
  /** Returns the time `ms` milliseconds from now, rounded up, so that nothing is due too early. */
  after(ms: number): number;
}

const MIB = 1024 * 1024;
const MAX = Number.MAX_SAFE_INTEGER;

export const MEMORY_OPTIONS = {
  /**
   * Maximum size of the pending messages (waiting or claimed), in bytes of their request bodies. `enqueue` rejects more with
   * `ERR_QUEUE_FULL`.
   * The heap needs about 250 bytes more for each message. A positive integer; default 67108864 (64 MiB).
   */
  maxPendingBytes: option(integer(1, MAX), 64 * MIB),
  /** Maximum number of pending messages. A positive integer; default 100000. */
  maxPendingMessages: option(integer(1, MAX), 100_000),
  /**
   * Maximum size of the dead letters, in bytes of their request bodies. The oldest are discarded as `evicted`.
   * An integer from 0, which keeps none; default 16777216 (16 MiB).
   */
  maxDeadBytes: option(integer(0, MAX), 16 * MIB),
};

export interface MemoryQueueOptions extends OptionsOf<typeof MEMORY_OPTIONS> {}

export type MemoryBounds = OptionValues<typeof MEMORY_OPTIONS>;

interface Acceptance {
  readonly initialState: ApplicationState;
  readonly delayMs: number;
  readonly at: QueueTime;
}

type OwnedMessage = Pick<Letter, 'application' | 'message'>;

export class MemoryStore {
  readonly dead: DeadLetters;
  readonly schedule = new Schedule();
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

  get pendingBytes(): number {
    return this.#bytes;
  }

  all(): Iterable<Application> {
    return this.#applications.values();
  }

  /**
   * Counts the entries of open applications as pending, and returns them. If they exceed a bound, throws
   * ERR_QUEUE_FULL and counts none.
   */
  reserve(entries: readonly QueueEntry[]) {
    const closed = new Set<string>();
    let messages = 0;
    let bytes = 0;
    for (const { applicationId, sizeBytes } of entries) {
      if (this.find(applicationId)?.isClosed === true) closed.add(applicationId);
      else {
        messages += 1;
        bytes += sizeBytes;
      }
    }
    const bound = this.#passedBound(messages, bytes);
    if (bound !== undefined) {
      const detail = `${messages} messages of ${bytes} bytes would pass ${bound} (${this.#bounds[bound]})`;
      throw new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
    }
    this.#addPending(messages, bytes);
    const open =
      closed.size === 0 ? entries : entries.filter((entry) => !closed.has(entry.applicationId));
    return { open, closed: [...closed] };
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

  /** Stores entries that {@link reserve} has counted. Returns their sequences. */
  accept(entries: readonly QueueEntry[], { initialState, delayMs, at }: Acceptance): number[] {
    const sequences: number[] = [];
    while (sequences.length < entries.length) {
      const start = sequences.length;
      const application = this.ensure((entries[start] as QueueEntry).applicationId, initialState);
      const messages = copyMessages(entries, start);
      const dueMs = application.canFillClaimWith(messages.length) ? at.nowMs : at.after(delayMs);
      for (const message of messages) {
        sequences.push(this.#addWaiting({ application, message }, at.nowMs, dueMs));
      }
      application.counts.accepted += sequences.length - start;
      this.reschedule(application, at.nowMs);
    }
    return sequences;
  }

  #addWaiting({ application, message }: OwnedMessage, nowMs: number, dueMs: number): number {
    this.lastSequence += 1;
    message.startWaiting(this.lastSequence, nowMs, dueMs);
    application.waiting.append(message);
    return this.lastSequence;
  }

  /**
   * Makes delayed messages due if they fill a claim, and updates when the application can be claimed. Must be
   * called after each change to its messages, state or claim.
   */
  reschedule(application: Application, nowMs: number): void {
    application.endDelaysIfClaimFull(nowMs);
    this.schedule.update(application, nowMs);
  }

  settle(claim: LiveClaim, results: readonly MessageResult[], at: QueueTime): void {
    const { application, messages, sizeBytes } = claim;
    // `findIndex` also visits holes of an array. `every` skips them, so they would count as delivered.
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
        const { reason, lastAttempt } = result;
        this.#moveToDeadLetters({ application, message, reason, lastAttempt }, at);
      } else {
        message.postpone(result, result.afterMs > 0 ? at.after(result.afterMs) : message.dueMs);
        application.waiting.putBack(message);
      }
    }
  }

  /** Makes dead letters of messages that no longer wait. */
  deadLetter(
    application: Application,
    { messages, reason }: { messages: readonly WaitingMessage[]; reason: DeadReason },
    at: QueueTime,
  ): DeadLetteredMessage[] {
    for (const message of messages) {
      this.#moveToDeadLetters({ application, message, reason, lastAttempt: null }, at);
    }
    this.reschedule(application, at.nowMs);
    const applicationId = application.id;
    return messages.map(({ messageId, sequence }) => ({ applicationId, messageId, sequence }));
  }

  #moveToDeadLetters(
    { application, message, reason, lastAttempt }: Omit<Letter, 'id' | 'acceptedAt' | 'diedAt'>,
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
    let replayed = 0;
    for (const letter of this.dead.find(filter)) {
      const { application, message } = letter;
      if (application.isClosed || this.#passedBound(1, message.sizeBytes)) continue;
      this.dead.remove(letter);
      this.#addPending(1, message.sizeBytes);
      this.#addWaiting(letter, nowMs, nowMs);
      this.reschedule(application, nowMs);
      replayed += 1;
    }
    return replayed;
  }

  /** Ends claims whose lease has expired, and updates the schedule for what has become due. */
  advance(nowMs: number): void {
    for (;;) {
      const application = this.schedule.due(nowMs);
      if (application === undefined) return;
      if (application.claim !== undefined) {
        const { endsAtMs } = application.claim;
        application.rescueClaim();
        application.endDelaysIfClaimFull(endsAtMs);
      }
      this.reschedule(application, nowMs);
    }
  }

  /** Discards everything that waits as `returned`, in slices. A claimed message counts as not sent. */
  *empty(sliceMessages: number): Iterable<ReturnedMessage[]> {
    for (const application of this.all()) {
      application.releaseClaim();
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
}
