import type {
  ApplicationState,
  DeadLetterFilter,
  DeadReason,
  ExpiredMessage,
  Json,
  MessageResult,
  QueueEntry,
  QueueStats,
  ReturnedMessage,
  SequenceRange,
  StoredMessage,
} from '../queue.ts';
import { Application, type LiveClaim } from './application.ts';
import { DeadLetters, type Owned } from './dead-letters.ts';
import type { MemoryQueueOptions } from './memory-options.ts';
import type { Moment } from './moment.ts';
import { queueStats } from './queue-stats.ts';
import { Room } from './room.ts';
import { Run, runLength } from './run.ts';
import { Turns } from './turns.ts';
import {
  postpone,
  renew,
  storedMessages,
  type WaitingMessage,
  waitingMessage,
} from './waiting-message.ts';

interface Ending {
  readonly reason: DeadReason;
  readonly lastAttempt: Json;
}

/** How entries come in. */
interface Arrival {
  readonly initialState: ApplicationState;
  readonly delayMs: number;
  readonly at: Moment;
}

/** Messages of an application that are over without an attempt. */
interface Expiry {
  readonly application: Application;
  readonly messages: readonly WaitingMessage[];
  readonly reason: DeadReason;
}

/** What the queue holds, and how a message moves within it: each step keeps the ledger (law 7). */
export class Content {
  readonly room: Room;
  readonly dead: DeadLetters;
  readonly turns = new Turns<Application>();
  /** Keys of the items that were imported. */
  readonly importedKeys = new Set<string>();
  lastSequence = 0;
  readonly #applications = new Map<string, Application>();

  constructor(options: Required<MemoryQueueOptions>) {
    this.room = new Room(options);
    this.dead = new DeadLetters(options.maxDeadBytes);
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

  /** Stores entries for which room was taken. Gives the sequence of the first one. */
  accept(entries: readonly QueueEntry[], { initialState, delayMs, at }: Arrival): number {
    const first = this.lastSequence + 1;
    const dueMs = at.after(delayMs);
    let application: Application | undefined;
    for (let start = 0; start < entries.length; ) {
      const entry = entries[start] as QueueEntry;
      // Placed once for those of it that follow one another.
      if (application?.id !== entry.applicationId) {
        if (application !== undefined) this.place(application, at.nowMs);
        application = this.ensure(entry.applicationId, initialState);
      }
      const count = runLength(entries, start);
      const acceptance = { sequence: this.nextSequence(count), nowMs: at.nowMs, dueMs };
      application.counts.accepted += count;
      application.waiting.append(
        count === 1
          ? waitingMessage(entry, acceptance)
          : new Run(entries.slice(start, start + count), acceptance),
      );
      start += count;
    }
    if (application !== undefined) this.place(application, at.nowMs);
    return first;
  }

  /** Has to be called after each change to what `application` has waiting, its state or its claim. */
  place(application: Application, nowMs: number): void {
    application.endDelaysIfFull(nowMs);
    this.turns.place(application, nowMs);
  }

  /** Records one result for each message of a claim that ends. */
  settle(claim: LiveClaim, results: readonly MessageResult[], at: Moment): void {
    const { application, taken } = claim;
    // As it visits holes as well, which are no results.
    if (results.findIndex((result) => result.kind !== 'delivered') === -1) {
      this.room.give(taken.sizeBytes, taken.size);
      application.counts.delivered += taken.size;
      return;
    }
    const messages = taken.messages();
    for (let index = 0; index < messages.length; index += 1) {
      const result = results[index] as MessageResult;
      this.#settle({ application, message: messages[index] as WaitingMessage }, result, at);
    }
  }

  /** Puts back messages that were not sent. */
  release({ application, taken }: LiveClaim): void {
    for (const message of taken.messages()) {
      message.sends -= 1;
      application.waiting.putBack(message);
    }
  }

  #settle({ application, message }: Owned, result: MessageResult, at: Moment): void {
    switch (result.kind) {
      case 'delivered':
        this.room.give(message.sizeBytes);
        application.counts.delivered += 1;
        break;
      case 'dead':
        this.#bury({ application, message }, result, at);
        break;
      case 'retry':
        postpone(message, result, result.afterMs > 0 ? at.after(result.afterMs) : message.dueMs);
        application.waiting.putBack(message);
    }
  }

  /** Makes dead letters of messages that were taken out. */
  expire({ application, messages, reason }: Expiry, at: Moment): ExpiredMessage[] {
    const ending = { reason, lastAttempt: null };
    for (const message of messages) this.#bury({ application, message }, ending, at);
    this.place(application, at.nowMs);
    return messages.map((message) => ({
      applicationId: application.id,
      messageId: message.messageId,
      sequence: message.sequence,
    }));
  }

  /** Dead letters wait again, the oldest first, as long as there is room. */
  revive(filter: DeadLetterFilter, at: Moment): number {
    const letters = this.dead.take(
      filter,
      ({ application, message }) => !application.isClosed && this.room.takeOne(message.sizeBytes),
    );
    for (const { application, message } of letters) {
      renew(message, { sequence: this.nextSequence(1), nowMs: at.nowMs, dueMs: at.nowMs });
      application.waiting.append(message);
      this.place(application, at.nowMs);
    }
    return letters.length;
  }

  purge(filter: DeadLetterFilter): number {
    const purged = this.dead.take(filter);
    for (const { application } of purged) application.discard('purged');
    return purged.length;
  }

  /** Ends the leases that are over, and gives those a turn whose time has come. */
  wake(at: Moment): void {
    for (;;) {
      const application = this.turns.woken(at.nowMs);
      if (application === undefined) return;
      const { claim } = application;
      if (claim !== undefined) {
        application.claim = undefined;
        for (const message of claim.taken.messages()) application.waiting.putBack(message);
        application.endDelaysIfFull(claim.endsAtMs);
      }
      this.place(application, at.nowMs);
    }
  }

  /** Hands back what waits, in slices; what was claimed was not sent (law 8). */
  *empty(sliceMessages: number): Iterable<ReturnedMessage[]> {
    for (const application of this.all()) {
      if (application.claim !== undefined) this.release(application.claim);
      application.claim = undefined;
      while (application.waiting.size > 0) yield this.#handBack(application, sliceMessages);
      this.place(application, 0);
    }
  }

  #handBack(application: Application, max: number): ReturnedMessage[] {
    const messages = application.waiting.takeFirst(max);
    const stored = storedMessages(messages);
    return messages.map((message, index) => {
      this.room.give(message.sizeBytes);
      application.discard('returned');
      return {
        applicationId: application.id,
        sequence: message.sequence,
        stored: stored[index] as StoredMessage,
        sends: message.sends,
      };
    });
  }

  stats({ nowMs }: Moment): QueueStats {
    return queueStats({
      applications: this.all(),
      isClaimable: (application) => this.turns.isReady(application),
      pendingBytes: this.room.bytes,
      nowMs,
    });
  }

  /** Counts the messages in the ranges that wait or are claimed. */
  countPending(ranges: readonly SequenceRange[]): number {
    let count = 0;
    const see = (part: SequenceRange): void => {
      for (const { from, to } of ranges) {
        count += Math.max(0, Math.min(to, part.to) - Math.max(from, part.from) + 1);
      }
    };
    for (const { waiting, claim } of this.all()) {
      waiting.eachPart(see);
      claim?.taken.eachRange(see);
    }
    return count;
  }

  /** Counts the messages that are due or claimed. */
  countDue(nowMs: number): number {
    let count = 0;
    for (const { waiting, claim } of this.all()) {
      count += claim?.taken.size ?? 0;
      waiting.eachPart(({ from, to, dueMs }) => {
        if (dueMs <= nowMs) count += to - from + 1;
      });
    }
    return count;
  }

  #bury({ application, message }: Owned, { reason, lastAttempt }: Ending, at: Moment): void {
    this.room.give(message.sizeBytes);
    const diedAt = at.epochMs;
    // Told from its age: the wall clock may have been set since.
    const acceptedAt = diedAt - (at.nowMs - message.acceptedMs);
    this.dead.add({ application, message, reason, lastAttempt, acceptedAt, diedAt });
  }

  /** Gives the first of `count` consecutive sequences. */
  nextSequence(count: number): number {
    const sequence = this.lastSequence + 1;
    this.lastSequence += count;
    return sequence;
  }
}
