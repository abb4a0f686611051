/** Messages between the threads: objects without bytes, and one buffer with the bytes of all of them. */
import { Claimed, Stored } from '../message-classes.ts';
import type { Claim, DeadLetterPage, QueueEntry } from '../queue.ts';
import type { PostedMessage } from './protocol.ts';
import type { ClaimAnswer } from './worker/claim.ts';
import type { PostedDeadLetters } from './worker/dead-letters.ts';
import type { PostedEntry } from './worker/enqueue.ts';

export const postedEntry = ({ applicationId, stored, sizeBytes }: QueueEntry): PostedEntry => ({
  applicationId,
  messageId: stored.messageId,
  format: stored.format,
  length: stored.bytes.length,
  dateAt: stored.dateAt,
  countAt: stored.countAt,
  sizeBytes,
});

/** Returns a function that gives each message its bytes. Call it in the order of the messages. */
function withBytes({ buffer, byteOffset, byteLength }: Uint8Array) {
  const all = Buffer.from(buffer, byteOffset, byteLength);
  let end = 0;
  return ({ messageId, format, dateAt, countAt, length }: PostedMessage): Stored => {
    end += length;
    const bytes = all.subarray(end - length, end);
    return new Stored({ messageId, format, bytes, dateAt, countAt });
  };
}

export function claimOf({ messages, bodies, ...claim }: ClaimAnswer): Claim {
  const storedOf = withBytes(bodies);
  return {
    ...claim,
    messages: messages.map((message) => {
      const { sequence, sends, ageMs, progress } = message;
      return new Claimed({ sequence, stored: storedOf(message), sends, ageMs, progress });
    }),
  };
}

export function deadLettersOf({ letters, bodies, next }: PostedDeadLetters): DeadLetterPage {
  const storedOf = withBytes(bodies);
  const items = letters.map(({ messageId, format, dateAt, countAt, length, ...letter }) => ({
    ...letter,
    stored: storedOf({ messageId, format, dateAt, countAt, length }),
  }));
  return next === undefined ? { items } : { items, next };
}
