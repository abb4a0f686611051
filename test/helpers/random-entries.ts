/** What a program of test/fixtures that lives with a queue brings in: small messages of any application. */
import type { QueueEntry } from '../../src/queue/queue.ts';

export interface EntrySource {
  /** Before each id, so that several programs share a queue. */
  readonly prefix: string;
  readonly applications: readonly string[];
  readonly random: () => number;
}

/** Makes the next one each time; each counts 100 bytes. */
export function entriesOf({ prefix, applications, random }: EntrySource): () => QueueEntry {
  let messages = 0;
  return () => {
    messages += 1;
    const messageId = `${prefix}-${messages}`;
    return {
      applicationId: applications[Math.floor(random() * applications.length)] ?? '',
      stored: { messageId, format: 2, bytes: Buffer.from(messageId), dateAt: 1, countAt: 2 },
      sizeBytes: 100,
    };
  };
}
