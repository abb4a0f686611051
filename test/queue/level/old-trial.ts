/** What the tests of the queue in a folder say by the contract of before. They go with that queue. */

import type { QueueClock } from '../../../src/queue/in-process/moment.ts';
import {
  type LevelQueueOptions,
  readLevelOptions,
} from '../../../src/queue/level/level-options.ts';
import { LevelQueue } from '../../../src/queue/level/level-queue.ts';
import type {
  ApplicationRow,
  Claim,
  Format,
  Nothing,
  QueueEntry,
  Verdict,
} from '../../../src/queue/level/old-contract.ts';
import { systemClock } from '../../../src/system/clock.ts';

export const createLevelQueue = (
  options: LevelQueueOptions,
  clock: QueueClock = systemClock,
): LevelQueue =>
  new LevelQueue(readLevelOptions(options), clock, {
    load: () => import('classic-level'),
    onWrite: () => {},
  });

export const ROW: ApplicationRow = {
  tier: 'healthy',
  maxMessages: 1000,
  maxBytes: 1_000_000,
  lane: null,
};

export const DELIVERED: Verdict = { kind: 'delivered' };
export const DEAD: Verdict = { kind: 'dead', reason: 'attempts-exhausted', end: { status: 500 } };

let messages = 0;

interface MessageOptions {
  readonly messageId?: string;
  readonly format?: Format;
  readonly sizeBytes?: number;
  readonly bytes?: Buffer;
}

export function entryOf(applicationId: string, options: MessageOptions = {}): QueueEntry {
  messages += 1;
  const { messageId = `message-${messages}`, format = 2 } = options;
  const bytes = options.bytes ?? Buffer.from(`{"message_id":"${messageId}","date_created":""}`);
  const slots = format === 2 ? { dateAt: 5, countAt: 9 } : { dateAt: 0, countAt: 0 };
  return {
    applicationId,
    stored: { messageId, format, bytes, ...slots },
    sizeBytes: options.sizeBytes ?? 100,
    origin: { senderId: 'sender', number: messages },
  };
}

export const idsOf = (claim: Claim): string[] =>
  claim.messages.map(({ stored }) => stored.messageId);

export const isClaim = (claimed: Claim | Nothing): claimed is Claim => 'messages' in claimed;
