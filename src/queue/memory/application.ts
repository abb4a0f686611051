import { ownProperties } from '../../own-properties.ts';
import type { ApplicationState, Claim, ClaimRequest, DiscardReason, Ledger } from '../queue.ts';
import type { QueueTime } from './queue-time.ts';
import type { Scheduled, SchedulePlace } from './schedule.ts';
import {
  claimedMessages,
  type TakenMessages,
  type WaitingMessage,
  WaitingMessages,
} from './waiting-messages.ts';

export interface LiveClaim extends TakenMessages {
  readonly id: string;
  readonly application: Application;
  endsAtMs: number;
}

/** One application: its state, its waiting and claimed messages, and its ledger. */
export class Application implements Scheduled {
  readonly id: string;
  readonly waiting = new WaitingMessages();
  readonly place: SchedulePlace = { heap: undefined, index: 0, key: 0 };
  readonly counts = { accepted: 0, delivered: 0, dead: 0 };
  readonly discarded: Partial<Record<DiscardReason, number>> = ownProperties({});
  state: ApplicationState;
  claim: LiveClaim | undefined = undefined;
  /** Nothing may be claimed before this time. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(id: string, state: ApplicationState) {
    this.id = id;
    this.state = state;
  }

  get isClosed(): boolean {
    return this.state.tier === 'closed';
  }

  /** Writes the state after a claim. A closed application stays closed: only `reopen` opens it. */
  update({ tier, maxMessages, maxBytes, circuitBreaker }: ApplicationState, untilMs: number): void {
    this.state = { tier: this.isClosed ? 'closed' : tier, maxMessages, maxBytes, circuitBreaker };
    this.#pausedUntilMs = untilMs;
  }

  close(): void {
    this.state = { ...this.state, tier: 'closed' };
  }

  reopen(state: ApplicationState): void {
    this.state = state;
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Makes delayed messages due once as many wait as one claim may have. */
  endDelaysIfFull(nowMs: number): void {
    if (this.waiting.size >= this.state.maxMessages) this.waiting.endDelays(nowMs);
  }

  /** Claims due messages, of which there is at least one. */
  lease(id: string, request: ClaimRequest, at: QueueTime): Claim {
    const { id: applicationId, state } = this;
    const limits = {
      maxMessages: Math.min(state.maxMessages, request.maxMessages),
      maxBytes: Math.min(state.maxBytes, request.maxBytes),
    };
    const taken = this.waiting.take(limits, at.nowMs);
    this.claim = { id, application: this, ...taken, endsAtMs: at.after(request.leaseMs) };
    const messages = claimedMessages(taken.messages, at.nowMs);
    const { format } = taken.messages[0] as WaitingMessage;
    return { id, applicationId, format, state, nowMs: at.nowMs, messages };
  }

  /** Ends the claim without results: its messages wait again. */
  putBackClaim(sendsToUndo: 0 | 1): void {
    for (const message of this.claim?.messages ?? []) {
      message.sends -= sendsToUndo;
      this.waiting.putBack(message);
    }
    this.claim = undefined;
  }

  /** Returns when a message can be claimed or the lease ends; `undefined` if nothing waits for a time. */
  claimableAtMs(): number | undefined {
    if (this.claim !== undefined) return this.claim.endsAtMs;
    const first = this.waiting.first();
    if (first === undefined || this.isClosed) return undefined;
    return Math.max(first.dueMs, this.#pausedUntilMs);
  }

  discard(reason: DiscardReason): void {
    this.discarded[reason] = (this.discarded[reason] ?? 0) + 1;
  }

  ledger(): Ledger {
    const pending = this.waiting.size + (this.claim?.messages.length ?? 0);
    return { ...this.counts, pending, discarded: { ...this.discarded } };
  }
}
