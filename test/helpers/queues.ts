/** Queues and claims for tests: filled, wrapped, failing. */

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { initialState, newCircuitBreaker } from '../../src/delivery/circuit-breaker.ts';
import { DEFAULT_POLICY } from '../../src/delivery/retry-policy.ts';
import { SecurityEventError } from '../../src/errors.ts';
import type {
  ApplicationState,
  Claim,
  ClaimedMessage,
  DeadReason,
  Json,
  MessageQueue,
  MessageResult,
  QueueEntry,
} from '../../src/queue/queue.ts';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { storeV2 } from '../../src/webhook/encoder.ts';
import { message } from './sender.ts';
import { temporaryFolder } from './temporary-files.ts';

// Claims as a queue hands them out, for tests of what follows from an attempt.

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

// Durable queues with dead letters in them, as a service leaves them behind.

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

/** How long each of them waits before it dies. */
const AGE_MS = 60_000;

const STATE: ApplicationState = {
  tier: 'healthy',
  maxMessages: 1000,
  maxBytes: 1e9,
  circuitBreaker: null,
};

const UPDATE = { ...STATE, pauseMs: 0 };

const CLAIM = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 60_000 } as const;

interface Batch {
  readonly applicationId: string;
  readonly sends: number;
  readonly diedAt: number;
  readonly reason: DeadReason;
  readonly lastAttempt: Json;
}

const batchOf = (death: Death): Batch => ({
  applicationId: death.applicationId ?? 'shop-1',
  sends: death.sends ?? 6,
  diedAt: death.diedAt ?? NOON_MS,
  reason: death.reason ?? 'attempts-exhausted',
  lastAttempt: death.end === undefined ? { status: 404 } : death.end,
});

function entryOf({ messageId, text = 'x' }: Death, applicationId: string): QueueEntry {
  const stored = storeV2(message(messageId, applicationId, text) as Parameters<typeof storeV2>[0]);
  return { applicationId, stored, sizeBytes: stored.bytes.length + 32 };
}

async function claimAll(queue: MessageQueue): Promise<Claim> {
  const claim = await queue.claim(CLAIM);
  if (!('messages' in claim)) throw new Error('nothing is due');
  return claim;
}

/** Puts messages into the queue, sends them as often as their batch says, and makes dead letters of them. */
async function buryBatch(
  queue: MessageQueue,
  entries: readonly QueueEntry[],
  { batch, clock }: { readonly batch: Batch; readonly clock?: FakeClock | undefined },
): Promise<void> {
  const { sends, diedAt, reason, lastAttempt } = batch;
  clock?.setWallClock(diedAt - AGE_MS);
  await queue.enqueue(entries);
  clock?.elapse(AGE_MS);
  if (sends === 0) {
    await queue.expire(-1, entries.length);
    return;
  }
  for (let attempt = 1; attempt <= sends; attempt += 1) {
    const claim = await claimAll(queue);
    const result: MessageResult =
      attempt === sends
        ? { kind: 'dead', reason, lastAttempt }
        : { kind: 'retry', afterMs: 0, progress: null };
    await queue.settle(
      claim,
      claim.messages.map(() => result),
      UPDATE,
    );
  }
}

/**
 * Opens an empty queue and puts dead letters into it, in this order. Without the queue's clock they have
 * the time of the call.
 */
export async function bury(
  queue: MessageQueue,
  deaths: readonly Death[],
  clock?: FakeClock,
): Promise<void> {
  await queue.open(STATE);
  let batch: Batch | undefined;
  let entries: QueueEntry[] = [];
  const flush = async (): Promise<void> => {
    if (batch !== undefined) await buryBatch(queue, entries, { batch, clock });
    entries = [];
  };
  for (const death of deaths) {
    const next = batchOf(death);
    if (!isDeepStrictEqual(batch, next) || entries.length === CLAIM.maxMessages) await flush();
    batch = next;
    entries.push(entryOf(death, next.applicationId));
  }
  await flush();
}

/** Makes a file as its service has left it; destinations of `closed` have closed themselves. */
export async function fill(
  file: string,
  deaths: readonly Death[],
  closed: readonly string[] = [],
): Promise<void> {
  const clock = createFakeClock(NOON_MS - AGE_MS);
  const queue = createSqliteQueue({ file, sync: false }, clock);
  await bury(queue, deaths, clock);
  for (const id of closed) await queue.closeApplication(id, 0);
  await queue.close();
}

/** Likewise, gone with the test. */
export async function fileWith(
  deaths: readonly Death[],
  closed: readonly string[] = [],
): Promise<string> {
  const file = join(temporaryFolder(), 'queue.db');
  await fill(file, deaths, closed);
  return file;
}

/** `m-0`, `m-1` … */
export const deaths = (count: number, death: Partial<Death> = {}): Death[] =>
  Array.from({ length: count }, (_, index) => ({ messageId: `m-${index}`, ...death }));

/** Returns the ids of the dead letters of a queue in a file, the oldest first. */
export async function deadIds(file: string): Promise<string[]> {
  const queue = createSqliteQueue({ file, sync: false });
  await queue.open(STATE);
  const { items } = await queue.listDeadLetters({ limit: 10_000 });
  await queue.close();
  return items.map(({ id }) => id);
}

/** Of a queue in a file: the message ids of its dead letters, and what waits. */
export async function contentOf(file: string): Promise<{ dead: string[]; pending: number }> {
  const queue = createSqliteQueue({ file, sync: false });
  await queue.open(STATE);
  const { items } = await queue.listDeadLetters({ limit: 10_000 });
  const { pending } = await queue.stats();
  await queue.close();
  return { dead: items.map(({ stored }) => stored.messageId), pending };
}

/** The queue with some of its methods in other hands. */
export const wrapQueue = (queue: MessageQueue, others: Partial<MessageQueue>): MessageQueue =>
  new Proxy(queue, {
    get: (target, name) => {
      const source = Object.hasOwn(others, name) ? others : target;
      const value: unknown = Reflect.get(source, name, source);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

type Method = Exclude<keyof MessageQueue, 'durability' | 'onDue'>;

const failed = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { cause: new Error('the store is away') });

export interface FailingQueue {
  readonly queue: MessageQueue;
  /** The next calls of this method reject, as those of a store that is away. */
  readonly fail: (method: Method, times: number) => void;
  /** The next call does what it should, and its answer is lost. */
  readonly loseAnswer: (method: Method) => void;
}

export function createFailingQueue(target: MessageQueue): FailingQueue {
  const failures = new Map<Method, number>();
  const lost = new Set<Method>();
  const queue = new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method = name as Method;
      return (...args: readonly unknown[]) => {
        const left = failures.get(method) ?? 0;
        if (left > 0) {
          failures.set(method, left - 1);
          return new Promise((_resolve, reject) => {
            setImmediate(() => reject(failed()));
          });
        }
        const answer: unknown = value.apply(target, args);
        if (!lost.delete(method)) return answer;
        return Promise.resolve(answer).then(() => {
          throw failed();
        });
      };
    },
  });
  return {
    queue,
    fail: (method, times) => void failures.set(method, times),
    loseAnswer: (method) => void lost.add(method),
  };
}

// What a program of test/fixtures that lives with a queue brings in: small messages of any application.

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
