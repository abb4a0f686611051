/** Entries and states for queues without a sender. Loads nothing, for programs of test/fixtures. */
import type { QueueEntry } from '../../src/queue/queue.ts';

export const HEALTHY = {
  health: 'healthy',
  maxMessages: 1000,
  maxBytes: 1e9,
  circuitBreaker: null,
} as const;

export const CLAIM_HEALTHY = { ofHealth: ['healthy'], maxMessages: 1000, maxBytes: 1e9 } as const;

export const rawEntry = (applicationId: string, messageId: string, bytes: Buffer): QueueEntry => ({
  applicationId,
  stored: { messageId, format: 2, bytes, dateAt: 1, countAt: 2 },
  sizeBytes: bytes.length,
});
