/**
 * A random workload on a queue, until the process is killed. Enqueues, claims and settles messages, and logs
 * each step in a journal file before or after it. Continues when the server is unavailable.
 */
import { openSync, writeSync } from 'node:fs';
import process from 'node:process';
import type { Claim, MessageQueue, MessageResult, QueueEntry } from '../../src/queue/queue.ts';
import { createSeededRandom } from './seeded-random.ts';

export interface Workload {
  readonly queue: MessageQueue;
  /** The path of the journal file. */
  readonly journal: string;
  readonly seed: number;
  readonly leaseMs: number;
}

const INITIAL = { health: 'healthy', maxMessages: 7, maxBytes: 1e6, circuitBreaker: null } as const;
const APPLICATIONS = ['one', 'two', 'three', 'four'];

type Log = (...words: readonly (string | number)[]) => void;

function stepsOf({ queue, seed, leaseMs }: Workload, log: Log): () => Promise<void> {
  const random = createSeededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let messages = 0;
  const entry = (): QueueEntry => {
    messages += 1;
    const messageId = `${process.pid}-${seed}-${messages}`;
    const stored = { bytes: Buffer.from(messageId), format: 2, dateAt: 1, countAt: 2 } as const;
    return { applicationId: pick(APPLICATIONS), stored: { messageId, ...stored }, sizeBytes: 100 };
  };

  async function accept(): Promise<void> {
    const entries = Array.from({ length: 1 + Math.floor(random() * 9) }, entry);
    const { closed } = await queue.enqueue(entries);
    for (const { applicationId, stored } of entries) {
      if (!closed.includes(applicationId)) log('accepted', stored.messageId);
    }
  }

  async function claim(): Promise<Claim | undefined> {
    const ofHealth = ['healthy', 'failing'] as const;
    const claimed = await queue.claim({ ofHealth, maxMessages: 100, maxBytes: 1e6, leaseMs });
    return 'messages' in claimed ? claimed : undefined;
  }

  async function deliver(): Promise<void> {
    const claimed = await claim();
    if (claimed === undefined) return;
    for (const { stored, retryCount } of claimed.messages)
      log('sent', stored.messageId, retryCount);
    const results = claimed.messages.map((): MessageResult => {
      const chance = random();
      if (chance < 0.4) return { kind: 'delivered' };
      if (chance < 0.8) return { kind: 'retry', afterMs: Math.floor(random() * 5), retryState: 1 };
      return { kind: 'dead', reason: 'attempts-exhausted', lastAttempt: null };
    });
    const each = (word: string): void => {
      for (const [index, { stored }] of claimed.messages.entries()) {
        log(word, stored.messageId, results[index]?.kind ?? '');
      }
    };
    each('settling');
    const health = random() < 0.1 ? 'closed' : 'healthy';
    if ((await queue.settle(claimed, results, { ...INITIAL, health, pauseMs: 0 })) === 'settled')
      each('settled');
  }

  async function release(): Promise<void> {
    const claimed = await claim();
    if (claimed !== undefined) await queue.release(claimed);
  }

  async function purge(): Promise<void> {
    const { items } = await queue.listDeadLetters({ limit: 1 });
    for (const { stored } of items) log('purging', stored.messageId);
    await queue.purgeDeadLetters({ ids: items.map(({ id }) => id) });
  }

  const steps: readonly (() => Promise<unknown>)[] = [
    accept,
    accept,
    accept,
    deliver,
    deliver,
    deliver,
    deliver,
    release,
    purge,
    () => queue.deadLetterOlderThan(400, 3),
    () => queue.deadLetterClosed(pick(APPLICATIONS), 3),
    () => queue.reopenApplication(pick(APPLICATIONS)),
    () => queue.replayDeadLetters({ applicationId: pick(APPLICATIONS) }),
  ];
  return async () => void (await pick(steps)());
}

/** Prints `open` on standard output, then runs the workload. */
export async function runWorkload(workload: Workload): Promise<never> {
  const file = openSync(workload.journal, 'a');
  const log: Log = (...words) => void writeSync(file, `${words.join(' ')}\n`);
  const runRandomStep = stepsOf(workload, log);
  async function step(): Promise<void> {
    try {
      await runRandomStep();
    } catch (error) {
      // The server is unavailable, or its response was lost.
      if ((error as { code?: unknown }).code !== 'ERR_QUEUE_FAILED') throw error;
      const { code, message } = (error as { cause: Error & { code?: string } }).cause;
      log('failed', code ?? '', message.replaceAll(/\s/g, '_'));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  await workload.queue.open(INITIAL);
  process.stdout.write('open');
  for (;;) await Promise.all([step(), step(), step()]);
}
