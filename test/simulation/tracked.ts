/** What the simulation knows of a message, from outside of the engine. */
import type { DeadReason, DiscardReason, Format, QueueEntry } from '../../src/queue/queue.ts';
import type { FaultMet } from './coverage.ts';

/** `entering`: given to the queue, which has not answered. */
export type MessageState = 'entering' | 'waiting' | 'claimed' | 'delivered' | 'dead' | 'discarded';

export interface Tracked {
  readonly key: string;
  readonly messageId: string;
  readonly applicationId: string;
  readonly format: Format;
  readonly sizeBytes: number;
  readonly isPoison: boolean;
  /** Which process accepted it: its place and its life. */
  readonly acceptedBy: string;
  /** Everything but what each sending makes anew. */
  content: string | undefined;
  /** Since a replay nobody's flush waits for it. */
  isReplayed: boolean;
  /** Of the last acceptance: a replay is one. */
  acceptedAt: number;
  state: MessageState;
  dueAt: number;
  /** As many messages waited as one claim may have: it may be claimed before it is due. */
  isDelayOver: boolean;
  /** Claims that were not released. */
  sends: number;
  /** POSTs that held it. */
  posts: number;
  /** Claims that ended with neither a POST nor a release: a process died, or its queue failed. */
  lostClaims: number;
  /** The receiver asked for it. */
  notBefore: number;
  /** Of its next request, itself included. */
  maxCompany: number;
  /** Failures that count as steps of the schedule, and towards the attempts that a status allows. */
  steps: number;
  refusals: number;
  isBisecting: boolean;
  failedAlone: boolean;
  /** Answers of 200-299, and how often a receiver took it. */
  confirmed: number;
  taken: number;
  deadReason: DeadReason | undefined;
  discardReason: DiscardReason | undefined;
  diedAt: number;
  readonly met: Set<FaultMet>;
}

export interface Acceptance {
  readonly key: string;
  readonly isPoison: boolean;
  readonly acceptedBy: string;
  readonly now: number;
  readonly delayMs: number;
}

export function track({ applicationId, stored, sizeBytes }: QueueEntry, by: Acceptance): Tracked {
  const { key, isPoison, acceptedBy, now } = by;
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
    sends: 0,
    posts: 0,
    lostClaims: 0,
    notBefore: 0,
    confirmed: 0,
    taken: 0,
    deadReason: undefined,
    discardReason: undefined,
    diedAt: 0,
    met: new Set(),
    ...afresh(now),
    dueAt: now + by.delayMs,
    state: 'entering',
  };
}

/** What an acceptance, or a replay, begins with. */
function afresh(now: number) {
  return {
    acceptedAt: now,
    state: 'waiting' as MessageState,
    dueAt: now,
    isDelayOver: false,
    maxCompany: Number.POSITIVE_INFINITY,
    steps: 0,
    refusals: 0,
    isBisecting: false,
    failedAlone: false,
  };
}

export function revive(message: Tracked, now: number): void {
  Object.assign(message, afresh(now), { notBefore: 0, deadReason: undefined, isReplayed: true });
}
