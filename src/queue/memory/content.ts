import type { Moment } from '../in-process/moment.ts';
import { queueStats } from '../in-process/queue-stats.ts';
import { Room } from '../in-process/room.ts';
import { Turns } from '../in-process/turns.ts';
import type {
  ApplicationRow,
  DeadLetterFilter,
  DeadReason,
  ExpiredMessage,
  Json,
  Moved,
  QueueEntry,
  QueueStats,
  ReturnedMessage,
  StoredMessage,
  Verdict,
} from '../queue.ts';
import { Application, type LiveClaim } from './application.ts';
import { DeadLetters, type Owned } from './dead-letters.ts';
import type { MemoryQueueOptions } from './memory-options.ts';
import { Run, runLength } from './run.ts';
import {
  type Acceptance,
  originOf,
  postpone,
  renew,
  storedMessages,
  type WaitingMessage,
  waitingMessage,
} from './waiting-message.ts';

interface Ending {
  readonly reason: DeadReason;
  readonly end: Json;
  /** Milliseconds since the epoch; absent: now. */
  readonly diedAt?: number;
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
  /** Of applications that come from now on. */
  lingerMs = 0;
  readonly #applications = new Map<string, Application>();
  #lastSequence = 0;

  constructor(options: Required<MemoryQueueOptions>) {
    this.room = new Room(options);
    this.dead = new DeadLetters(options.maxDeadBytes);
  }

  find(applicationId: string): Application | undefined {
    return this.#applications.get(applicationId);
  }

  ensure(applicationId: string, initialRow: ApplicationRow): Application {
    const known = this.#applications.get(applicationId);
    if (known !== undefined) return known;
    const application = new Application(applicationId, initialRow, this.lingerMs);
    this.#applications.set(applicationId, application);
    return application;
  }

  all(): Iterable<Application> {
    return this.#applications.values();
  }

  /** Room was taken for them. */
  accept(entries: readonly QueueEntry[], initialRow: ApplicationRow, at: Moment): void {
    let application: Application | undefined;
    for (let start = 0; start < entries.length; ) {
      const entry = entries[start] as QueueEntry;
      // Placed once for those of it that follow one another.
      if (application?.id !== entry.applicationId) {
        if (application !== undefined) this.turns.place(application, at.nowMs);
        application = this.ensure(entry.applicationId, initialRow);
      }
      const length = runLength(entries, start);
      if (length === 1) this.#accept(application, entry, at);
      else this.#acceptRun(application, entries.slice(start, start + length), at);
      start += length;
    }
    if (application !== undefined) this.turns.place(application, at.nowMs);
  }

  #acceptRun(application: Application, entries: readonly QueueEntry[], { nowMs }: Moment): void {
    application.counts.accepted += entries.length;
    application.waiting.append(new Run(entries, this.#acceptance(nowMs, entries.length)));
  }

  #accept(application: Application, entry: QueueEntry, at: Moment): void {
    application.counts.accepted += 1;
    const message = waitingMessage(entry, this.#acceptance(at.nowMs));
    const { past } = entry;
    if (past === undefined) application.waiting.append(message);
    else if (past.death === undefined) application.waiting.putBack(message);
    else this.#bury({ application, message }, past.death, at);
  }

  /** Of a claim that ends: a verdict a message. */
  settle(claim: LiveClaim, verdicts: readonly (Verdict | Moved)[], at: Moment): void {
    const { application, taken } = claim;
    // As it visits holes as well, which are no verdicts.
    if (verdicts.findIndex((verdict) => verdict.kind !== 'delivered') === -1) {
      this.room.give(taken.sizeBytes, taken.size);
      application.counts.delivered += taken.size;
      return;
    }
    const messages = taken.messages();
    for (let index = 0; index < messages.length; index += 1) {
      const verdict = verdicts[index] as Verdict | Moved;
      this.#settle({ application, message: messages[index] as WaitingMessage }, verdict, at);
    }
  }

  #settle({ application, message }: Owned, verdict: Verdict | Moved, at: Moment): void {
    switch (verdict.kind) {
      case 'delivered':
        this.room.give(message.sizeBytes);
        application.counts.delivered += 1;
        break;
      case 'moved':
        this.room.give(message.sizeBytes);
        application.discard('moved');
        break;
      case 'dead':
        this.#bury({ application, message }, verdict, at);
        break;
      case 'again':
        postpone(message, verdict, verdict.afterMs > 0 ? at.after(verdict.afterMs) : message.dueMs);
        application.waiting.putBack(message);
    }
  }

  /** Makes dead letters of messages that were taken out. */
  expire({ application, messages, reason }: Expiry, at: Moment): ExpiredMessage[] {
    for (const message of messages) this.#bury({ application, message }, { reason, end: null }, at);
    this.turns.place(application, at.nowMs);
    return messages.map((message) => ({
      applicationId: application.id,
      messageId: message.messageId,
      origin: originOf(message),
    }));
  }

  /** Dead letters wait again, the oldest first, as long as there is room. */
  revive(filter: DeadLetterFilter, at: Moment): number {
    const letters = this.dead.take(
      filter,
      ({ application, message }) => !application.isClosed && this.room.takeOne(message.sizeBytes),
    );
    for (const { application, message } of letters) {
      renew(message, this.#acceptance(at.nowMs));
      application.waiting.append(message);
      this.turns.place(application, at.nowMs);
    }
    return letters.length;
  }

  /** For an early claim: any of which something waits. */
  unclaimed(): Application | undefined {
    for (const application of this.all()) {
      if (application.claim === undefined && application.waiting.size > 0) return application;
    }
    return undefined;
  }

  /** Ends the leases that are over, and gives those a turn whose time has come. */
  wake(at: Moment): void {
    for (;;) {
      const application = this.turns.woken(at.nowMs);
      if (application === undefined) return;
      const { claim } = application;
      application.claim = undefined;
      for (const message of claim?.taken.messages() ?? []) application.waiting.putBack(message);
      this.turns.place(application, at.nowMs);
    }
  }

  /** Hands back what waits, in slices; what was claimed was not sent (law 8). */
  *empty(sliceMessages: number): Iterable<ReturnedMessage[]> {
    for (const application of this.all()) {
      for (const message of application.claim?.taken.messages() ?? []) {
        message.sends -= 1;
        application.waiting.putBack(message);
      }
      application.claim = undefined;
      while (application.waiting.size > 0) yield this.#handBack(application, sliceMessages);
      this.turns.place(application, 0);
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
        stored: stored[index] as StoredMessage,
        origin: originOf(message),
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

  #bury({ application, message }: Owned, ending: Ending, at: Moment): void {
    const { reason, end, diedAt = at.epochMs } = ending;
    this.room.give(message.sizeBytes);
    // Told from its age: the wall clock may have been set since.
    const acceptedAt = diedAt - (at.nowMs - message.acceptedMs);
    const death = { reason, end, acceptedAt, diedAt };
    this.dead.add({ application, message, ...death });
  }

  /** Of the first of so many that come in one after the other. */
  #acceptance(nowMs: number, count = 1): Acceptance {
    const sequence = this.#lastSequence + 1;
    this.#lastSequence += count;
    return { sequence, nowMs };
  }
}
