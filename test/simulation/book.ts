/**
 * The simulation's own books of a queue, kept from what its methods were asked and what they answered.
 * They are compared with what the queue counts from its content.
 */
import type {
  ApplicationUpdate,
  Claim,
  DeadReason,
  DiscardReason,
  MessageResult,
  QueueEntry,
  Tier,
} from '../../src/queue/queue.ts';
import type { Destination } from './destination.ts';
import { type Acceptance, revive, type Tracked, track } from './tracked.ts';

export interface BookedClaim {
  readonly claim: Claim;
  readonly messages: readonly Tracked[];
  endsAt: number;
  /** Which process has it: its place and its life. */
  readonly heldBy: string;
  readonly claimedAt: number;
  /** As the queue knew it then: it may be opened again meanwhile. */
  readonly destination: Destination;
  isPosted: boolean;
  /** The queue made it, but its answer was lost: nobody knows of it. */
  isUnheard: boolean;
}

export interface BookedApplication {
  readonly id: string;
  readonly waiting: Set<Tracked>;
  claim: BookedClaim | undefined;
  tier: Tier;
  maxMessages: number;
  notBefore: number;
  accepted: number;
  /** Since when something of it could be claimed. */
  readySince: number | undefined;
}

export class Book {
  readonly messages = new Map<string, Tracked>();
  readonly applications = new Map<string, BookedApplication>();
  /** Grows with every change. */
  changes = 0;
  readonly #initialMaxMessages: number;

  constructor(initialMaxMessages: number) {
    this.#initialMaxMessages = initialMaxMessages;
  }

  application(id: string): BookedApplication {
    const known = this.applications.get(id);
    if (known !== undefined) return known;
    const made: BookedApplication = {
      id,
      waiting: new Set(),
      claim: undefined,
      tier: 'untried',
      maxMessages: this.#initialMaxMessages,
      notBefore: 0,
      accepted: 0,
      readySince: undefined,
    };
    this.applications.set(id, made);
    return made;
  }

  /** Number of messages that wait or are claimed. */
  get pendingCount(): number {
    let count = 0;
    for (const { waiting, claim } of this.applications.values()) {
      count += waiting.size + (claim?.messages.length ?? 0);
    }
    return count;
  }

  message(messageId: string): Tracked {
    const found = this.messages.get(messageId);
    if (found === undefined) throw new Error(`the queue knows ${messageId}, the books do not`);
    return found;
  }

  /** Before the queue is asked: what it takes may be claimed before its answer is there. */
  expect(entry: QueueEntry, by: Acceptance): Tracked {
    const message = track(entry, by);
    this.messages.set(message.messageId, message);
    return message;
  }

  /** The queue has taken it. */
  accept(message: Tracked): void {
    if (message.state !== 'entering') return;
    this.changes += 1;
    const application = this.application(message.applicationId);
    message.state = 'waiting';
    application.waiting.add(message);
    application.accepted += 1;
    this.#endDelays(application);
  }

  /** It has not. */
  forget({ messageId, state }: Tracked): void {
    if (state === 'entering') this.messages.delete(messageId);
  }

  claim(
    claim: Claim,
    at: Pick<BookedClaim, 'heldBy' | 'claimedAt' | 'endsAt' | 'destination'>,
  ): BookedClaim {
    this.changes += 1;
    const application = this.application(claim.applicationId);
    const messages = claim.messages.map(({ stored }) => this.message(stored.messageId));
    for (const message of messages) {
      // Its acceptance, or its replay, may not have been heard of yet.
      this.accept(message);
      this.revive(message.messageId, at.claimedAt);
    }
    this.#endDelays(application, messages);
    for (const message of messages) {
      application.waiting.delete(message);
      message.state = 'claimed';
      message.sends += 1;
    }
    application.claim = { claim, messages, ...at, isPosted: false, isUnheard: false };
    // Its turn is over, even where it is given back in the same moment.
    application.readySince = undefined;
    return application.claim;
  }

  /** What is live, and this claim. */
  held({ id, applicationId }: Claim): BookedClaim | undefined {
    const held = this.application(applicationId).claim;
    return held?.claim.id === id ? held : undefined;
  }

  extend(claim: Claim, endsAt: number): void {
    const held = this.held(claim);
    if (held !== undefined) held.endsAt = endsAt;
  }

  settle({ claim, messages }: BookedClaim, results: readonly MessageResult[], now: number): void {
    this.changes += 1;
    for (const [index, message] of messages.entries()) {
      const result = results[index];
      if (result?.kind === 'delivered') message.state = 'delivered';
      else if (result?.kind === 'dead') bury(message, result.reason, now);
      else if (result?.kind === 'retry') {
        if (result.afterMs > 0) message.dueAt = now + result.afterMs;
        this.#comeBack(message, now);
      }
    }
    this.application(claim.applicationId).claim = undefined;
  }

  /** What is claimed by it and not settled was not sent (law 8). */
  releaseAll(heldBy: string, now: number): void {
    for (const { claim } of this.applications.values()) {
      if (claim?.heldBy === heldBy) this.release(claim, now);
    }
  }

  release({ claim, messages }: BookedClaim, now: number): void {
    this.changes += 1;
    for (const message of messages) {
      message.sends -= 1;
      this.#comeBack(message, now);
    }
    this.application(claim.applicationId).claim = undefined;
  }

  write(
    applicationId: string,
    { tier, maxMessages, pauseMs }: ApplicationUpdate,
    now: number,
  ): void {
    const application = this.application(applicationId);
    if (application.tier !== 'closed') application.tier = tier;
    application.maxMessages = maxMessages;
    application.notBefore = now + pauseMs;
    this.#endDelays(application);
  }

  reopen(applicationId: string): void {
    const application = this.applications.get(applicationId);
    if (application === undefined) return;
    // Among those that are untried it is the last one.
    if (application.tier !== 'untried') application.readySince = undefined;
    Object.assign(application, {
      tier: 'untried',
      notBefore: 0,
      maxMessages: this.#initialMaxMessages,
    });
  }

  end(messageId: string, reason: DeadReason, now: number): void {
    this.changes += 1;
    const message = this.message(messageId);
    // Its acceptance may not have been heard of yet.
    this.accept(message);
    this.application(message.applicationId).waiting.delete(message);
    bury(message, reason, now);
  }

  discard(messageId: string, reason: DiscardReason): void {
    this.changes += 1;
    const message = this.message(messageId);
    this.application(message.applicationId).waiting.delete(message);
    message.state = 'discarded';
    message.discardReason = reason;
  }

  revive(messageId: string, now: number): void {
    const message = this.message(messageId);
    if (message.state !== 'dead') return;
    this.changes += 1;
    revive(message, now);
    this.application(message.applicationId).waiting.add(message);
  }

  /** The queue's clock jumped: what it has a time for comes so much sooner. */
  shift(byMs: number, now: number): void {
    for (const message of this.messages.values()) {
      message.acceptedAt -= byMs;
      message.dueAt -= byMs;
      message.notBefore -= byMs;
      message.diedAt -= byMs;
    }
    for (const application of this.applications.values()) {
      // A pause that is over stays so.
      if (application.notBefore > now) application.notBefore -= byMs;
      application.readySince = undefined;
      if (application.claim !== undefined) application.claim.endsAt -= byMs;
    }
  }

  /** Ends the leases that are over. */
  wake(now: number): void {
    for (const application of this.applications.values()) {
      const { claim } = application;
      if (claim === undefined || claim.endsAt > now) continue;
      application.claim = undefined;
      this.changes += 1;
      for (const message of claim.messages) {
        if (!claim.isPosted) message.lostClaims += 1;
        this.#comeBack(message, now);
      }
    }
  }

  #comeBack(message: Tracked, now: number): void {
    const application = this.application(message.applicationId);
    if (application.tier === 'closed') {
      bury(message, 'destination-closed', now);
      return;
    }
    message.state = 'waiting';
    application.waiting.add(message);
    this.#endDelays(application);
  }

  /** A full claim ends the delay of what was not sent before. */
  #endDelays({ id, waiting, maxMessages }: BookedApplication, claimed?: readonly Tracked[]): void {
    let count = waiting.size;
    // What the queue has taken may not have been heard of yet.
    if (claimed?.some(({ dueAt, acceptedAt, sends }) => sends === 0 && dueAt > acceptedAt)) {
      for (const { applicationId, state } of this.messages.values()) {
        if (applicationId === id && state === 'entering') count += 1;
      }
    }
    if (count < maxMessages) return;
    for (const message of waiting) message.isDelayOver ||= message.sends === 0;
  }
}

function bury(message: Tracked, reason: DeadReason, now: number): void {
  message.state = 'dead';
  message.deadReason = reason;
  message.diedAt = now;
}
