/** Durable queues with dead letters in them, as a service leaves them behind. */
import { join } from 'node:path';
import { createLevelQueue } from '../../src/queue/level.ts';
import type { ApplicationState, DeadReason, Json, MessageQueue } from '../../src/queue/queue.ts';
import { storeV2 } from '../../src/webhook/encoder.ts';
import { message } from './sender.ts';
import { temporaryFolder } from './temporary-folder.ts';

export interface Death {
  readonly messageId: string;
  /** Default `shop-1`. */
  readonly applicationId?: string;
  readonly reason?: DeadReason;
  readonly end?: Json;
  readonly sends?: number;
  /** Default 2026-11-20T12:00:00Z. */
  readonly diedAt?: number;
  /** Its payload holds it. */
  readonly text?: string;
}

export const NOON_MS = Date.UTC(2026, 10, 20, 12);

const INITIAL: ApplicationState = {
  tier: 'healthy',
  maxMessages: 1000,
  maxBytes: 1e6,
  circuitBreaker: null,
};

function entryOf(death: Death) {
  const { messageId, applicationId = 'shop-1', reason = 'attempts-exhausted' } = death;
  const { end = { status: 404 }, sends = 6, diedAt = NOON_MS, text = 'x' } = death;
  const stored = storeV2(message(messageId, applicationId, text) as Parameters<typeof storeV2>[0]);
  return {
    applicationId,
    stored,
    sizeBytes: stored.bytes.length + 32,
    origin: { senderId: 'service', number: 1 },
    past: {
      sends,
      ageMs: 60_000,
      dueInMs: 0,
      progress: null,
      death: { reason, end, diedAt },
    },
  };
}

/** Opens the queue and puts them into it, in this order. */
export async function bury(queue: MessageQueue, deaths: readonly Death[]): Promise<void> {
  await queue.open(INITIAL);
  // Within one call they die application by application.
  let [some, owner]: [ReturnType<typeof entryOf>[], string | undefined] = [[], undefined];
  for (const entry of deaths.map(entryOf)) {
    if (owner !== entry.applicationId && some.length > 0) await queue.enqueue(some);
    if (owner !== entry.applicationId) some = [];
    owner = entry.applicationId;
    some.push(entry);
  }
  if (some.length > 0) await queue.enqueue(some);
}

/** Makes a folder as its service has left it; destinations of `closed` have closed themselves. */
export async function fill(
  folder: string,
  deaths: readonly Death[],
  closed: readonly string[] = [],
): Promise<void> {
  const queue = createLevelQueue({ folder, sync: false });
  await bury(queue, deaths);
  for (const id of closed) await queue.closeApplication(id, 0);
  await queue.close();
}

/** Likewise, gone with the test. */
export async function folderWith(
  deaths: readonly Death[],
  closed: readonly string[] = [],
): Promise<string> {
  const folder = join(temporaryFolder(), 'queue');
  await fill(folder, deaths, closed);
  return folder;
}

/** `m-0`, `m-1` … */
export const deaths = (count: number, death: Partial<Death> = {}): Death[] =>
  Array.from({ length: count }, (_, index) => ({ messageId: `m-${index}`, ...death }));

/** Of a queue in a folder: the message ids of its dead letters, and what waits. */
export async function contentOf(folder: string): Promise<{ dead: string[]; pending: number }> {
  const queue = createLevelQueue({ folder, sync: false });
  await queue.open(INITIAL);
  const { items } = await queue.listDeadLetters({ limit: 10_000 });
  const { pending } = await queue.stats();
  await queue.close();
  return { dead: items.map(({ stored }) => stored.messageId), pending };
}
