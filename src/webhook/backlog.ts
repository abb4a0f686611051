/** What one call of the direct sender has left to send, and when. No I/O: times are arguments. */
import { MAX_MESSAGES_PER_REQUEST } from '../contract/index.ts';
import type { Random } from '../runtime/random.ts';
import type { AcceptedMessage } from './accept.ts';
import { elementBytes } from './encoder.ts';
import type { Judgement } from './outcome.ts';
import type {
  AttemptEnd,
  DeliveredMessage,
  UndeliveredMessage,
  UndeliveredReason,
} from './report.ts';
import { type NextAttempt, nextAttempt, nextTime, type RetrySchedule } from './retry.ts';
import { halve, splitRequests } from './split.ts';

export interface BacklogOptions {
  readonly messages: readonly AcceptedMessage[];
  readonly schedule: RetrySchedule;
  readonly maxBodyBytes: number;
  readonly acceptedAt: number;
  readonly random: Random;
}

/**
 * Messages that go together. They stay together, in their order, unless a request turns out to be
 * too large, so they share their history: one `retry_count` is everyone's (D24).
 */
export interface PendingRequest {
  readonly messages: readonly AcceptedMessage[];
  /** How often they were sent, halved requests included. */
  readonly sends: number;
  /** How many failures count towards the schedule. */
  readonly step: number;
  readonly dueAt: number;
  /** How the last attempt ended; empty before the first. */
  readonly lastEnd: AttemptEnd;
}

/** What follows from an attempt that ended at `now`. */
export interface Verdict extends Judgement {
  readonly end: AttemptEnd;
  /** Whether the caller's signal ended it. */
  readonly isAborted: boolean;
  /** What the receiver asked for. */
  readonly retryAfterMs: number | undefined;
  readonly now: number;
}

interface GivingUp {
  readonly reason: UndeliveredReason;
  readonly retryAfterMs?: number | undefined;
}

export class Backlog {
  readonly #options: BacklogOptions;
  /** What is due first comes first; of those due at the same time, requests keep their order. */
  #pending: PendingRequest[];
  #pausedUntil = Number.NEGATIVE_INFINITY;
  readonly delivered: DeliveredMessage[] = [];
  readonly undelivered: UndeliveredMessage[] = [];

  constructor(options: BacklogOptions) {
    const { messages, acceptedAt } = options;
    this.#options = options;
    this.#pending = this.#fit({ messages, sends: 0, step: 0, dueAt: acceptedAt, lastEnd: {} });
  }

  /** When something is due; `undefined` when nothing is left. */
  nextDueAt(): number | undefined {
    const [next] = this.#pending;
    return next === undefined ? undefined : Math.max(next.dueAt, this.#pausedUntil);
  }

  /** Takes out what is due first, or the part that fits: its bytes may have grown with its counts. */
  take(): PendingRequest | undefined {
    const next = this.#pending.shift();
    if (next === undefined) return undefined;
    const [first, ...rest] = this.#fit(next);
    this.#pending.unshift(...rest);
    return first;
  }

  /** What becomes of a request that was taken out and sent. */
  settle(taken: PendingRequest, verdict: Verdict): void {
    const request = { ...taken, sends: taken.sends + 1, lastEnd: verdict.end };
    const { outcome, retryAfterMs } = verdict;
    if (outcome === 'delivered') {
      for (const { index, stored } of request.messages) {
        this.delivered.push({ index, message_id: stored.messageId });
      }
    } else if (verdict.isAborted) {
      this.#giveUp(request, { reason: 'aborted' });
    } else if (outcome === 'dead') {
      this.#giveUp(request, { reason: 'too-large', retryAfterMs });
    } else if (outcome === 'smaller') {
      this.#sendSmaller(request, verdict);
    } else {
      this.#sendLater(request, verdict);
      if (outcome === 'pause' && retryAfterMs !== undefined) this.#pause(retryAfterMs, verdict.now);
    }
  }

  giveUpAll(why: GivingUp): void {
    for (const request of this.#pending) this.#giveUp(request, why);
    this.#pending = [];
  }

  #fit(request: PendingRequest): PendingRequest[] {
    const { sends } = request;
    const measure = ({ stored, application }: AcceptedMessage) => ({
      application,
      bytes: elementBytes({ stored, sends }),
    });
    const limits = {
      maxMessages: MAX_MESSAGES_PER_REQUEST,
      maxBytes: this.#options.maxBodyBytes,
    };
    const parts = splitRequests(request.messages, measure, limits);
    return parts.map((messages) => ({ ...request, messages }));
  }

  #sendLater(request: PendingRequest, { maxAttempts, retryAfterMs, now }: Verdict): void {
    const { schedule, acceptedAt, random } = this.#options;
    const { step } = request;
    const failed = { step, maxAttempts, retryAfterMs, acceptedAt, now };
    const next = nextAttempt(schedule, failed, random);
    if (next.kind === 'retry') {
      const isBefore = ({ dueAt }: PendingRequest): boolean => dueAt <= next.at;
      const retry = { ...request, step: step + 1, dueAt: next.at };
      this.#pending.splice(this.#pending.findLastIndex(isBefore) + 1, 0, retry);
    } else {
      this.#giveUp(request, { reason: next.reason, retryAfterMs: next.waitMs ?? retryAfterMs });
    }
  }

  /** Both halves come before all else that is due, and the schedule does not count it (D73). */
  #sendSmaller(request: PendingRequest, { retryAfterMs, now }: Verdict): void {
    const next = retryAfterMs === undefined ? undefined : this.#after(retryAfterMs, now);
    if (next?.kind === 'dead') {
      this.#giveUp(request, { reason: next.reason, retryAfterMs });
      return;
    }
    const dueAt = next?.at ?? request.dueAt;
    const halves = halve(request.messages).map((messages) => ({ ...request, messages, dueAt }));
    const isBefore = (pending: PendingRequest): boolean => pending.dueAt < dueAt;
    this.#pending.splice(this.#pending.findLastIndex(isBefore) + 1, 0, ...halves);
  }

  /** Holds back everything, or gives it up where that would take too long (D71, D72). */
  #pause(retryAfterMs: number, now: number): void {
    const next = this.#after(retryAfterMs, now);
    if (next.kind === 'dead') this.giveUpAll({ reason: next.reason, retryAfterMs });
    else this.#pausedUntil = next.at;
  }

  #after(waitMs: number, now: number): NextAttempt {
    const { schedule, acceptedAt, random } = this.#options;
    return nextTime(schedule, { waitMs, acceptedAt, now }, random);
  }

  #giveUp(request: PendingRequest, { reason, retryAfterMs }: GivingUp): void {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    for (const { index, stored } of request.messages) {
      const message_id = stored.messageId;
      this.undelivered.push({ index, message_id, reason, ...request.lastEnd, ...wait });
    }
  }
}
