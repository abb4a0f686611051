/**
 * The life of a process with a queue, until it is killed: it accepts, sends, settles, and writes down each
 * step before or after it, in a file that outlives it. Where the server is away it goes on.
 */
import { openSync, writeSync } from 'node:fs';
import process from 'node:process';
import type { Claim, MessageQueue, MessageResult } from '../../src/queue/queue.ts';
import { createSeededRandom } from '../../src/testing/seeded-random.ts';
import { entriesOf } from './queues.ts';

export interface Life {
  readonly queue: MessageQueue;
  /** The path of the file. */
  readonly journal: string;
  readonly seed: number;
  readonly leaseMs: number;
}

const INITIAL = { tier: 'healthy', maxMessages: 7, maxBytes: 1e6, circuitBreaker: null } as const;
const APPLICATIONS = ['one', 'two', 'three', 'four'];

type Tell = (...words: readonly (string | number)[]) => void;

function stepsOf({ queue, seed, leaseMs }: Life, tell: Tell): () => Promise<void> {
  const random = createSeededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const entry = entriesOf({ prefix: `${process.pid}-${seed}`, applications: APPLICATIONS, random });

  async function accept(): Promise<void> {
    const entries = Array.from({ length: 1 + Math.floor(random() * 9) }, entry);
    const { closed } = await queue.enqueue(entries);
    for (const { applicationId, stored } of entries) {
      if (!closed.includes(applicationId)) tell('accepted', stored.messageId);
    }
  }

  async function claim(): Promise<Claim | undefined> {
    const tiers = ['healthy', 'failing'] as const;
    const claimed = await queue.claim({ tiers, maxMessages: 100, maxBytes: 1e6, leaseMs });
    return 'messages' in claimed ? claimed : undefined;
  }

  async function deliver(): Promise<void> {
    const claimed = await claim();
    if (claimed === undefined) return;
    for (const { stored, sends } of claimed.messages) tell('sent', stored.messageId, sends);
    const results = claimed.messages.map((): MessageResult => {
      const chance = random();
      if (chance < 0.4) return { kind: 'delivered' };
      if (chance < 0.8) return { kind: 'retry', afterMs: Math.floor(random() * 5), progress: 1 };
      return { kind: 'dead', reason: 'attempts-exhausted', lastAttempt: null };
    });
    const each = (word: string): void => {
      for (const [index, { stored }] of claimed.messages.entries()) {
        tell(word, stored.messageId, results[index]?.kind ?? '');
      }
    };
    each('settling');
    if ((await queue.settle(claimed, results, { ...INITIAL, pauseMs: 0 })) === 'settled')
      each('settled');
  }

  async function release(): Promise<void> {
    const claimed = await claim();
    if (claimed !== undefined) await queue.release(claimed);
  }

  async function purge(): Promise<void> {
    const { items } = await queue.listDeadLetters({ limit: 1 });
    for (const { stored } of items) tell('purging', stored.messageId);
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
    () => queue.expire(400, 3),
    () => queue.closeApplication(pick(APPLICATIONS), 3),
    () => queue.reopenApplication(pick(APPLICATIONS)),
    () => queue.replayDeadLetters({ applicationId: pick(APPLICATIONS) }),
  ];
  return async () => void (await pick(steps)());
}

/** Says `open` on standard output once it begins. */
export async function live(life: Life): Promise<never> {
  const file = openSync(life.journal, 'a');
  const tell: Tell = (...words) => void writeSync(file, `${words.join(' ')}\n`);
  const any = stepsOf(life, tell);
  async function step(): Promise<void> {
    try {
      await any();
    } catch (error) {
      // The server is away, or was when the answer was due.
      if ((error as { code?: unknown }).code !== 'ERR_QUEUE_FAILED') throw error;
      const { code, message } = (error as { cause: Error & { code?: string } }).cause;
      tell('failed', code ?? '', message.replaceAll(/\s/g, '_'));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  await life.queue.open(INITIAL);
  process.stdout.write('open');
  for (;;) await Promise.all([step(), step(), step()]);
}
