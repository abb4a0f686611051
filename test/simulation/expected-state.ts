/**
 * The expected state of a queue, derived from the arguments and results of its methods.
 * It is compared with the queue's own counts.
 */
import type {
  ApplicationUpdate,
  Claim,
  DeadReason,
  DiscardReason,
  Health,
  MessageResult,
  QueueEntry,
} from '../../src/queue/queue.ts';
import type { Destination } from './destination.ts';
import { type Acceptance, revive, type Tracked, track } from './tracked.ts';

export interface ExpectedClaim {
  readonly claim: Claim;
  readonly messages: readonly Tracked[];
  endsAt: number;
  /** Key of the process that claimed it. */
  readonly claimedBy: string;
  readonly claimedAt: number;
  /** The destination when it was claimed. It may be reopened meanwhile. */
  readonly destination: Destination;
  isPosted: boolean;
  /** The queue made the claim, but its response was lost. */
  isResultLost: boolean;
}

export interface ExpectedApplication {
  readonly id: string;
  readonly waiting: Set<Tracked>;
  claim: ExpectedClaim | undefined;
  health: Health;
  maxMessages: number;
  notBefore: number;
  accepted: number;
  /** Since when it has had messages to claim. */
  readySince: number | undefined;
}

export class ExpectedState {
  readonly messages = new Map<string, Tracked>();
  readonly applications = new Map<string, ExpectedApplication>();
  /** Grows with every change. */
  changes = 0;
  readonly #initialMaxMessages: number;

  constructor(initialMaxMessages: number) {
    this.#initialMaxMessages = initialMaxMessages;
  }

  application(id: string): ExpectedApplication {
    const known = this.applications.get(id);
    if (known !== undefined) return known;
    const made: ExpectedApplication = {
      id,
      waiting: new Set(),
      claim: undefined,
      health: 'untried',
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
    if (found === undefined)
      throw new Error(`${messageId} is in the queue, but not in the expected state`);
    return found;
  }

  /** Called before `enqueue`: messages may be claimed before it returns. */
  expect(entry: QueueEntry, by: Acceptance): Tracked {
    const message = track(entry, by);
    this.messages.set(message.messageId, message);
    return message;
  }

  /** Called when the queue has accepted the message. */
  accept(message: Tracked): void {
    if (message.state !== 'entering') return;
    this.changes += 1;
    const application = this.application(message.applicationId);
    message.state = 'waiting';
    application.waiting.add(message);
    application.accepted += 1;
    this.#endDelays(application);
  }

  /** Called when the queue has not accepted the message. */
  forget({ messageId, state }: Tracked): void {
    if (state === 'entering') this.messages.delete(messageId);
  }

  claim(
    claim: Claim,
    at: Pick<ExpectedClaim, 'claimedBy' | 'claimedAt' | 'endsAt' | 'destination'>,
  ): ExpectedClaim {
    this.changes += 1;
    const application = this.application(claim.applicationId);
    const messages = claim.messages.map(({ stored }) => this.message(stored.messageId));
    for (const message of messages) {
      // The result of its enqueue or replay may still be outstanding.
      this.accept(message);
      this.revive(message.messageId, at.claimedAt);
    }
    this.#endDelays(application, messages);
    for (const message of messages) {
      application.waiting.delete(message);
      message.state = 'claimed';
      message.sends += 1;
    }
    application.claim = { claim, messages, ...at, isPosted: false, isResultLost: false };
    // Its turn is over, even if it is released at the same time.
    application.readySince = undefined;
    return application.claim;
  }

  /** Returns the expected claim if it is still live. */
  held({ id, applicationId }: Claim): ExpectedClaim | undefined {
    const held = this.application(applicationId).claim;
    return held?.claim.id === id ? held : undefined;
  }

  extend(claim: Claim, endsAt: number): void {
    const held = this.held(claim);
    if (held !== undefined) held.endsAt = endsAt;
  }

  settle({ claim, messages }: ExpectedClaim, results: readonly MessageResult[], now: number): void {
    this.changes += 1;
    for (const [index, message] of messages.entries()) {
      const result = results[index];
      if (result?.kind === 'delivered') message.state = 'delivered';
      else if (result?.kind === 'dead') markDead(message, result.reason, now);
      else if (result?.kind === 'retry') {
        if (result.afterMs > 0) message.dueAt = now + result.afterMs;
        this.#returnToQueue(message, now);
      }
    }
    this.application(claim.applicationId).claim = undefined;
  }

  /** Releases the claims of a closed process: no `settle` was called for them (law 8). */
  releaseAll(claimedBy: string, now: number): void {
    for (const { claim } of this.applications.values()) {
      if (claim?.claimedBy === claimedBy) this.release(claim, now);
    }
  }

  release({ claim, messages }: ExpectedClaim, now: number): void {
    this.changes += 1;
    for (const message of messages) {
      message.sends -= 1;
      this.#returnToQueue(message, now);
    }
    this.application(claim.applicationId).claim = undefined;
  }

  write(
    applicationId: string,
    { health, maxMessages, pauseMs }: ApplicationUpdate,
    now: number,
  ): void {
    const application = this.application(applicationId);
    if (application.health !== 'closed') application.health = health;
    application.maxMessages = maxMessages;
    application.notBefore = now + pauseMs;
    this.#endDelays(application);
  }

  reopen(applicationId: string): void {
    const application = this.applications.get(applicationId);
    if (application === undefined) return;
    // It becomes the last of the untried applications.
    if (application.health !== 'untried') application.readySince = undefined;
    Object.assign(application, {
      health: 'untried',
      notBefore: 0,
      maxMessages: this.#initialMaxMessages,
    });
  }

  end(messageId: string, reason: DeadReason, now: number): void {
    this.changes += 1;
    const message = this.message(messageId);
    // The result of its enqueue may still be outstanding.
    this.accept(message);
    this.application(message.applicationId).waiting.delete(message);
    markDead(message, reason, now);
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

  /** Moves all times back after the queue's clock jumped forward. */
  shift(byMs: number, now: number): void {
    for (const message of this.messages.values()) {
      message.acceptedAt -= byMs;
      message.dueAt -= byMs;
      message.notBefore -= byMs;
      message.diedAt -= byMs;
    }
    for (const application of this.applications.values()) {
      // A pause that is over stays over.
      if (application.notBefore > now) application.notBefore -= byMs;
      application.readySince = undefined;
      if (application.claim !== undefined) application.claim.endsAt -= byMs;
    }
  }

  /** Ends expired leases. */
  expireLeases(now: number): void {
    for (const application of this.applications.values()) {
      const { claim } = application;
      if (claim === undefined || claim.endsAt > now) continue;
      application.claim = undefined;
      this.changes += 1;
      for (const message of claim.messages) {
        if (!claim.isPosted) message.lostClaims += 1;
        this.#returnToQueue(message, now);
      }
    }
  }

  #returnToQueue(message: Tracked, now: number): void {
    const application = this.application(message.applicationId);
    if (application.health === 'closed') {
      markDead(message, 'destination-closed', now);
      return;
    }
    message.state = 'waiting';
    application.waiting.add(message);
    this.#endDelays(application);
  }

  /** Ends the delay of new messages when there are enough for a full claim. */
  #endDelays(
    { id, waiting, maxMessages }: ExpectedApplication,
    claimed?: readonly Tracked[],
  ): void {
    const delayed = claimed?.find((one) => one.sends === 0 && one.dueAt > one.acceptedAt);
    // The result of their enqueue may still be outstanding.
    const entering = [...(delayed === undefined ? [] : this.messages.values())].filter(
      ({ applicationId, state }) => applicationId === id && state === 'entering',
    );
    if (waiting.size + entering.length < maxMessages) return;
    for (const message of waiting) message.isDelayOver ||= message.sends === 0;
    for (const message of entering) {
      message.isDelayOver ||= message.acceptedAt === delayed?.acceptedAt;
    }
  }
}

function markDead(message: Tracked, reason: DeadReason, now: number): void {
  message.state = 'dead';
  message.deadReason = reason;
  message.diedAt = now;
}
