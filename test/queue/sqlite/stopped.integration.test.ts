/** Processes that share a file: one of them is stopped (SIGSTOP), or all of them are busy. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixtureCommand, startChild } from '../../helpers/child-programs.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { entryOf, failedWith, isClaim, REQUEST, settleAll } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';

/** Starts a neighbour, and waits until it says something. */
async function neighbour(...args: readonly string[]): Promise<ChildProcess> {
  const child = startChild(fixtureCommand('sqlite-neighbour', args), ['pipe', 'pipe', 'inherit']);
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  return child;
}

/** A neighbour that is stopped in a transaction, and an enqueue that waits for it. */
async function stoppedInTransaction() {
  const file = newFile();
  const queue = await openQueue({ file });
  const child = await neighbour(file, 'write');
  onTestFinished(() => void child.kill('SIGKILL'));
  // Stopped at random, until it is in the middle of one.
  for (let tries = 0; tries < 200; tries += 1) {
    await wait(10 + (tries % 17));
    child.kill('SIGSTOP');
    const blocked = queue.enqueue([entryOf('one')]).catch((error: unknown) => error);
    if ((await Promise.race([blocked, wait(1000, 'waits')])) === 'waits') {
      return { child, queue, blocked };
    }
    child.kill('SIGCONT');
  }
  throw new Error('it was never in a transaction');
}

describe('a process that is stopped', () => {
  test('settles nothing when it continues after its lease expired', async () => {
    const file = newFile();
    const queue = await openQueue({ file });
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    const child = await neighbour(file, 'claim', '1000');
    child.kill('SIGSTOP');
    let claim = await queue.claim(REQUEST);
    while (!isClaim(claim)) {
      await wait(20);
      claim = await queue.claim(REQUEST);
    }
    expect(claim.messages).toMatchObject([{ stored: { messageId: 'a' }, retryCount: 1 }]);
    const answers = text(child.stdout as NonNullable<typeof child.stdout>);
    child.stdin?.write('go on\n');
    child.kill('SIGCONT');
    expect(await answers).toBe('lost,lost,lost');
    expect(await queue.stats()).toMatchObject({ delivered: 0, pending: 1 });
    expect(await settleAll(queue, claim)).toBe('settled');
  });

  test.each(['SIGCONT', 'SIGKILL'] as const)(
    'blocks the others during a transaction until %s',
    async (signal) => {
      const { child, blocked } = await stoppedInTransaction();
      child.kill(signal);
      expect(await blocked).toMatchObject({ closed: [] });
    },
    60_000,
  );

  test.skipIf(quickOrNightly(true, false))(
    'in a transaction fails calls of the others after 10 s',
    async () => {
      const { child, queue, blocked } = await stoppedInTransaction();
      expect(await blocked).toEqual(failedWith('another process has held the file for 10 s'));
      child.kill('SIGCONT');
      expect(await queue.enqueue([entryOf('one')])).toMatchObject({ closed: [] });
    },
    60_000,
  );
});

describe('four processes that enqueue at the same time', () => {
  interface Enqueued {
    readonly meanMissed: number;
    readonly mostMissed: number;
    readonly longestMs: number;
  }

  test('take turns: no enqueue waits for long', async () => {
    const file = newFile();
    const forMs = quickOrNightly('1000', '10000');
    const children = await Promise.all(
      Array.from({ length: 4 }, () => neighbour(file, 'enqueue', forMs)),
    );
    const answers = children.map((child) => text(child.stdout as NonNullable<typeof child.stdout>));
    for (const child of children) child.stdin?.write('go\n');
    for (const answer of await Promise.all(answers)) {
      const { meanMissed, mostMissed, longestMs } = JSON.parse(answer) as Enqueued;
      // On average less than a turn of each other: it is 2 at most. A process that starves misses 50 to 100 for a message.
      expect(meanMissed).toBeLessThan(3);
      expect(mostMissed).toBeLessThan(40);
      // Alone on the machine less than 100 ms. When it is busy, all wait for a process that has the lock and no core.
      expect(longestMs).toBeLessThan(quickOrNightly(10_000, 250));
    }
  }, 120_000);
});
