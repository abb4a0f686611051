/** Claims as a queue hands them out, for tests of what follows from an attempt. */
import type { ApplicationRow, Claim, ClaimedMessage, Json } from '../../src/queue/queue.ts';
import { storeV2 } from '../../src/webhook/encoder.ts';
import { newLane, untriedRow } from '../../src/webhook/engine/lane.ts';
import { DEFAULT_POLICY } from '../../src/webhook/engine/policy.ts';

export const POLICY = DEFAULT_POLICY;

export const HASH = 'the hash of a url';

export const LANE = newLane(HASH, POLICY);

export const claimed = (
  id: string,
  { progress = null, ageMs = 0, sends = 0 }: Partial<ClaimedMessage> = {},
): ClaimedMessage => ({
  stored: storeV2({ message_id: id, message_type: 'test', message: {} }),
  origin: { senderId: 's', number: 1 },
  sends,
  ageMs,
  progress,
});

/** As many messages as there are progresses. */
export const claimOf = (
  progresses: readonly (Json | null)[],
  row: ApplicationRow = untriedRow(POLICY),
): Claim => ({
  id: 'claim-1',
  applicationId: 'shop-1',
  format: 2,
  row,
  now: 1000,
  messages: progresses.map((progress, index) => claimed(`m-${index}`, { progress })),
});
