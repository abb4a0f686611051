/** Queues and claims for tests: filled, wrapped, failing. */

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { initialState, newCircuitBreaker } from '../../src/delivery/circuit-breaker.ts';
import { DEFAULT_POLICY } from '../../src/delivery/retry-policy.ts';
import { SecurityEventError } from '../../src/errors.ts';
import type {
  ApplicationState,
  Claim,
  DeadReason,
  Json,
  MessageQueue,
  QueueEntry,
} from '../../src/queue/queue.ts';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { toStoredV2 } from '../../src/webhook/encoder.ts';
import { claimFrom, INITIAL, REQUEST, retry, settleAll } from '../queue/conformance/trial.ts';
import { message } from './sender.ts';
import { temporaryFolder } from './temporary-files.ts';

// Claims, for tests of settling.

export const POLICY = DEFAULT_POLICY;

export const HASH = 'the hash of a url';

export const BREAKER = newCircuitBreaker(HASH, POLICY);

/** A claim with one message per retry state. */
export const claimOf = (
  retryStates: readonly (Json | null)[],
  state: ApplicationState = initialState(POLICY),
): Claim => ({
  id: 'claim-1',
  applicationId: 'shop-1',
  format: 2,
  state,
  nowMs: 1000,
  messages: retryStates.map((retryState, index) => ({
    stored: toStoredV2({ message_id: `m-${index}`, message_type: 'test', message: {} }),
    sequence: 1,
    retryCount: 0,
    ageMs: 0,
    retryState,
  })),
});

// Durable queues with dead letters.

export interface DeadLetterSpec {
  readonly messageId: string;
  /** Default `shop-1`. */
  readonly applicationId?: string;
  readonly reason?: DeadReason;
  /** Default `{ status: 404 }`. */
  readonly lastAttempt?: Json;
  readonly sends?: number;
  /** Default 2026-11-20T12:00:00Z. */
  readonly diedAt?: number;
  /** Part of the payload. */
  readonly text?: string;
}

export const NOON_MS = Date.UTC(2026, 10, 20, 12);

/** Age of each message when it becomes a dead letter. */
const AGE_MS = 60_000;

/** A claim may have all messages of a batch. */
const STATE: ApplicationState = { ...INITIAL, maxBytes: 1e9 };

type Batch = Required<Omit<DeadLetterSpec, 'messageId' | 'text'>>;

const batchOf = ({
  applicationId = 'shop-1',
  sends = 6,
  diedAt = NOON_MS,
  reason = 'attempts-exhausted',
  lastAttempt = { status: 404 },
}: DeadLetterSpec): Batch => ({ applicationId, sends, diedAt, reason, lastAttempt });

function entryOf({ messageId, text = 'x' }: DeadLetterSpec, applicationId: string): QueueEntry {
  const stored = toStoredV2(
    message(messageId, applicationId, text) as Parameters<typeof toStoredV2>[0],
  );
  return { applicationId, stored, sizeBytes: stored.bytes.length + 32 };
}

/** Enqueues messages, attempts them `batch.sends` times, and dead-letters them. */
async function addBatch(
  queue: MessageQueue,
  entries: readonly QueueEntry[],
  { batch, clock }: { readonly batch: Batch; readonly clock?: FakeClock | undefined },
): Promise<void> {
  const { sends, diedAt, reason, lastAttempt } = batch;
  clock?.setWallClock(diedAt - AGE_MS);
  await queue.enqueue(entries);
  clock?.elapse(AGE_MS);
  if (sends === 0) {
    await queue.deadLetterOlderThan(-1, entries.length);
    return;
  }
  for (let attempt = 1; attempt < sends; attempt += 1) {
    await settleAll(queue, await claimFrom(queue), { ...STATE, result: retry(0) });
  }
  const result = { kind: 'dead', reason, lastAttempt } as const;
  await settleAll(queue, await claimFrom(queue), { ...STATE, result });
}

/**
 * Opens an empty queue and adds dead letters to it, in this order. Without the queue's clock `diedAt` is
 * ignored.
 */
export async function addDeadLetters(
  queue: MessageQueue,
  specs: readonly DeadLetterSpec[],
  clock?: FakeClock,
): Promise<void> {
  await queue.open(STATE);
  let batch: Batch | undefined;
  let entries: QueueEntry[] = [];
  const flush = async (): Promise<void> => {
    if (batch !== undefined) await addBatch(queue, entries, { batch, clock });
    entries = [];
  };
  for (const spec of specs) {
    const next = batchOf(spec);
    if (!isDeepStrictEqual(batch, next) || entries.length === REQUEST.maxMessages) await flush();
    batch = next;
    entries.push(entryOf(spec, next.applicationId));
  }
  await flush();
}

/** Writes a queue file with dead letters and closed applications. */
export async function fillQueueFile(
  file: string,
  specs: readonly DeadLetterSpec[],
  closed: readonly string[] = [],
): Promise<void> {
  const clock = createFakeClock(NOON_MS - AGE_MS);
  const queue = createSqliteQueue({ file, sync: false }, clock);
  await addDeadLetters(queue, specs, clock);
  for (const id of closed) {
    await queue.enqueue([entryOf({ messageId: `last of ${id}` }, id)]);
    await settleAll(queue, await claimFrom(queue), { ...STATE, health: 'closed' });
  }
  await queue.close();
}

/** Like `fillQueueFile`, in a new file that is removed at the end of the test. Returns its path. */
export async function queueFileWith(
  specs: readonly DeadLetterSpec[],
  closed: readonly string[] = [],
): Promise<string> {
  const file = join(temporaryFolder(), 'queue.db');
  await fillQueueFile(file, specs, closed);
  return file;
}

/** Specs of dead letters with the message ids `m-0`, `m-1` … */
export const deadLetterSpecs = (
  count: number,
  spec: Partial<DeadLetterSpec> = {},
): DeadLetterSpec[] =>
  Array.from({ length: count }, (_, index) => ({ messageId: `m-${index}`, ...spec }));

async function readFile(file: string) {
  const queue = createSqliteQueue({ file, sync: false });
  await queue.open(STATE);
  const { items } = await queue.listDeadLetters({ limit: 10_000 });
  const { pending } = await queue.stats();
  await queue.close();
  return { items, pending };
}

/** Returns the ids of the dead letters in a queue file, oldest first. */
export const deadIds = async (file: string): Promise<string[]> =>
  (await readFile(file)).items.map(({ id }) => id);

/** Returns the message ids of the dead letters in a queue file, and its pending count. */
export async function contentOf(file: string): Promise<{ dead: string[]; pending: number }> {
  const { items, pending } = await readFile(file);
  return { dead: items.map(({ stored }) => stored.messageId), pending };
}

/** Returns the queue with some of its methods replaced. */
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
  new SecurityEventError('ERR_QUEUE_FAILED', { cause: new Error('the store is unavailable') });

export interface FailingQueue {
  readonly queue: MessageQueue;
  /** The next calls of this method reject, as if the store were unavailable. */
  readonly fail: (method: Method, times: number) => void;
  /** The next call succeeds in the store but rejects, as if its response were lost. */
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
