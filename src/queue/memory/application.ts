/** The applications of a memory queue, and the counts of their messages. */
import { ownProperties } from '../../own-properties.ts';
import type { Heap } from '../../runtime/heap.ts';
import type {
  ApplicationState,
  Backlog,
  Claim,
  ClaimRequest,
  DiscardReason,
  Health,
  Ledger,
  QueueStats,
  SequenceRange,
} from '../queue.ts';
import { sumLedgers } from '../stored-values.ts';
import { claimedMessages, type WaitingMessage } from './message.ts';
import { type TakenMessages, WaitingMessages } from './waiting-messages.ts';

export interface LiveClaim extends TakenMessages {
  readonly id: string;
  readonly application: Application;
  endsAtMs: number;
}

/** Where an application is in the schedule. */
interface SchedulePlace {
  heap: Heap<Application> | undefined;
  index: number;
  /** In the heap of ready applications the number of its turn, otherwise a time in milliseconds. */
  key: number;
}

/** One application: its state, its waiting and claimed messages, and its ledger. */
export class Application {
  readonly id: string;
  readonly waiting = new WaitingMessages();
  /** Only the schedule writes it. */
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
    return this.state.health === 'closed';
  }

  setState(
    { health, maxMessages, maxBytes, circuitBreaker }: ApplicationState,
    pausedUntilMs: number,
  ): void {
    this.state = { health, maxMessages, maxBytes, circuitBreaker };
    this.#pausedUntilMs = pausedUntilMs;
  }

  /** Returns whether the waiting messages and `more` others fill a claim. */
  canFillClaimWith(more: number): boolean {
    return this.waiting.size + more >= this.state.maxMessages;
  }

  /** Makes delayed messages due if the waiting messages fill a claim. */
  endDelaysIfClaimFull(nowMs: number): void {
    if (this.canFillClaimWith(0)) this.waiting.endDelays(nowMs);
  }

  /** Claims due messages. At least one must be due. */
  startClaim(
    request: ClaimRequest,
    { id, nowMs, endsAtMs }: Pick<Claim, 'id' | 'nowMs'> & Pick<LiveClaim, 'endsAtMs'>,
  ): Claim {
    const { id: applicationId, state } = this;
    const limits = {
      maxMessages: Math.min(state.maxMessages, request.maxMessages),
      maxBytes: Math.min(state.maxBytes, request.maxBytes),
    };
    const taken = this.waiting.take(limits, nowMs);
    this.claim = { id, application: this, ...taken, endsAtMs };
    const messages = claimedMessages(taken.messages, nowMs);
    const { format } = taken.messages[0] as WaitingMessage;
    return { id, applicationId, format, state, nowMs, messages };
  }

  /** Ends the claim without results: its messages wait again, and count as sent. */
  rescueClaim(): void {
    for (const message of this.claim?.messages ?? []) this.waiting.putBack(message);
    this.claim = undefined;
  }

  /** Ends a claim whose messages were not sent. */
  releaseClaim(): void {
    for (const message of this.claim?.messages ?? []) message.sends -= 1;
    this.rescueClaim();
  }

  /** Returns when a message can be claimed, or the lease of the claim ends; `undefined` if it is closed or no message waits. */
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

type Applications = Iterable<Application>;

export function countPending(applications: Applications, ranges: readonly SequenceRange[]): number {
  let count = 0;
  for (const { waiting, claim } of applications) {
    for (const { sequence } of waiting) if (isIn(ranges, sequence)) count += 1;
    for (const { sequence } of claim?.messages ?? []) if (isIn(ranges, sequence)) count += 1;
  }
  return count;
}

/** Searches ranges that ascend and do not overlap. */
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

export function countBacklog(
  applications: Applications,
  nowMs: number,
): Omit<Backlog, 'lastSequence'> {
  let pendingMessages = 0;
  let dueMessages = 0;
  for (const { waiting, claim } of applications) {
    const claimed = claim?.messages.length ?? 0;
    pendingMessages += claimed + waiting.size;
    dueMessages += claimed;
    for (const { dueMs } of waiting) if (dueMs <= nowMs) dueMessages += 1;
  }
  return { pendingMessages, dueMessages };
}

export function statsOf(
  applications: Applications,
  nowMs: number,
): Omit<QueueStats, 'pendingBytes'> {
  const ledgers = new Map<string, Ledger & { readonly health: Health }>();
  let oldestDueMs = 0;
  for (const application of applications) {
    const ledger = application.ledger();
    ledgers.set(application.id, { ...ledger, health: application.state.health });
    // Counts from when it could be claimed: the time before that, in a pause, is no delay of the queue. Nor is the lease
    // of a claim, which has not expired.
    oldestDueMs = Math.max(oldestDueMs, nowMs - (application.claimableAtMs() ?? nowMs));
  }
  return { ...sumLedgers(ledgers.values()), oldestDueMs, applications: ledgers };
}
