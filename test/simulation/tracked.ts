/** The expected state of a message, observed from outside the engine. */
import type { DeadReason, DiscardReason, Format, QueueEntry } from '../../src/queue/queue.ts';

/** `entering`: passed to `enqueue`, which has not returned. */
export type MessageState = 'entering' | 'waiting' | 'claimed' | 'delivered' | 'dead' | 'discarded';

export interface Tracked {
  readonly key: string;
  readonly messageId: string;
  readonly applicationId: string;
  readonly format: Format;
  readonly sizeBytes: number;
  readonly isPoison: boolean;
  /** Key of the process that accepted it. */
  readonly acceptedBy: string;
  /** The payload without the fields that change with each send. */
  content: string | undefined;
  /** No flush waits for a replayed message. */
  isReplayed: boolean;
  /** Time of the enqueue or the last replay. */
  acceptedAt: number;
  state: MessageState;
  dueAt: number;
  /** May be claimed before it is due, because a full claim was waiting. */
  isDelayOver: boolean;
  /** Claims that were not released. */
  sends: number;
  /** POSTs that contained it. */
  posts: number;
  /** Claims that ended without a POST or a release: a process crashed, or its queue failed. */
  lostClaims: number;
  /** From Retry-After. */
  notBefore: number;
  /** Number of 200-299 responses. */
  confirmed: number;
  deadReason: DeadReason | undefined;
  discardReason: DiscardReason | undefined;
  diedAt: number;
  /** Whether it was released while its settings hung. */
  hasMetHanging: boolean;
}

export interface Acceptance {
  readonly key: string;
  readonly isPoison: boolean;
  readonly acceptedBy: string;
  readonly now: number;
  readonly delayMs: number;
}

export function track({ applicationId, stored, sizeBytes }: QueueEntry, by: Acceptance): Tracked {
  const { key, isPoison, acceptedBy, now, delayMs } = by;
  return {
    key,
    messageId: stored.messageId,
    applicationId,
    format: stored.format,
    sizeBytes,
    isPoison,
    acceptedBy,
    content: undefined,
    isReplayed: false,
    acceptedAt: now,
    state: 'entering',
    dueAt: now + delayMs,
    isDelayOver: false,
    sends: 0,
    posts: 0,
    lostClaims: 0,
    notBefore: 0,
    confirmed: 0,
    deadReason: undefined,
    discardReason: undefined,
    diedAt: 0,
    hasMetHanging: false,
  };
}

/** Makes a dead letter wait again after a replay. */
export function revive(message: Tracked, now: number): void {
  message.state = 'waiting';
  message.isReplayed = true;
  message.acceptedAt = now;
  message.dueAt = now;
  message.isDelayOver = false;
  message.notBefore = 0;
  message.deadReason = undefined;
}
