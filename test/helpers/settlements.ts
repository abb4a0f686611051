/** Settles attempts, for tests of the resulting settlement. */
import type { CircuitBreaker } from '../../src/delivery/circuit-breaker.ts';
import type { DeliveryPolicy } from '../../src/delivery/retry-policy.ts';
import {
  type FinishedAttempt,
  type Settlement,
  settlementOf,
} from '../../src/delivery/settlement.ts';
import type { Json } from '../../src/queue/queue.ts';
import type { AttemptResult, FailureCode } from '../../src/webhook/outcome.ts';
import { BREAKER, claimOf, POLICY } from './queues.ts';

export const answered = (status: number): AttemptResult => ({
  kind: 'response',
  status,
  retryAfter: undefined,
  timings: { totalMs: 1 },
});

export const failed = (code: FailureCode): AttemptResult => ({
  kind: 'failure',
  code,
  detail: 'a sentence',
  timings: { totalMs: 1 },
});

export interface SettledCase extends Partial<Omit<FinishedAttempt, 'messages' | 'breaker'>> {
  /** The retry state of each message. */
  readonly messages?: readonly (Json | null)[];
  /** Age of the messages when they were claimed. Default 0. */
  readonly ageMs?: number;
  readonly breaker?: Partial<CircuitBreaker>;
  readonly policy?: Partial<DeliveryPolicy>;
  /** Default: no jitter. */
  readonly random?: () => number;
}

/** Settles an attempt without duration, by default a delivered one. */
export function settleAfter(settled: SettledCase): Settlement {
  const { messages: retryStates = [null], ageMs = 0, breaker, policy, ...rest } = settled;
  const { random = () => 0, ...attempt } = rest;
  const { messages, nowMs } = claimOf(retryStates);
  const attempted: FinishedAttempt = {
    messages: messages.map((message) => ({ ...message, ageMs })),
    claimedAtMs: nowMs,
    breaker: { ...BREAKER, ...breaker },
    result: answered(200),
    bodyBytes: 400,
    retryAfterMs: undefined,
    now: nowMs,
    ...attempt,
  };
  return settlementOf(attempted, { ...POLICY, ...policy }, random);
}
