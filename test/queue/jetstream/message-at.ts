/** A fresh message, as it came in. */
import type { Message } from '../../../src/queue/jetstream/envelope.ts';

export const messageAt = (
  sequence: number,
  batch?: readonly [string, number, number],
): Message => ({
  sequence,
  storedMs: 1000,
  format: 2,
  sizeBytes: 1,
  messageId: `${sequence}`,
  dateAt: -1,
  countAt: -1,
  origin: { senderId: 'sender', number: sequence },
  ...(batch && { batch: { id: batch[0], index: batch[1], count: batch[2] } }),
});
