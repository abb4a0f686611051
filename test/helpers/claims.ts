/** Claims as a queue hands them out, for tests of what follows from an attempt. */
import type { ApplicationState, Claim, ClaimedMessage, Json } from '../../src/queue/queue.ts';
import { storeV2 } from '../../src/webhook/encoder.ts';
import { initialState, newCircuitBreaker } from '../../src/webhook/engine/circuit-breaker.ts';
import { DEFAULT_POLICY } from '../../src/webhook/engine/policy.ts';

export const POLICY = DEFAULT_POLICY;

export const HASH = 'the hash of a url';

export const BREAKER = newCircuitBreaker(HASH, POLICY);

export const claimed = (
  id: string,
  { progress = null, ageMs = 0, sends = 0 }: Partial<ClaimedMessage> = {},
): ClaimedMessage => ({
  stored: storeV2({ message_id: id, message_type: 'test', message: {} }),
  sequence: 1,
  sends,
  ageMs,
  progress,
});

/** As many messages as there are progresses. */
export const claimOf = (
  progresses: readonly (Json | null)[],
  state: ApplicationState = initialState(POLICY),
): Claim => ({
  id: 'claim-1',
  applicationId: 'shop-1',
  format: 2,
  state,
  nowMs: 1000,
  messages: progresses.map((progress, index) => claimed(`m-${index}`, { progress })),
});
