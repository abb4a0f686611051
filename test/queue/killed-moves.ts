/** Moves by a process of their own, which kill -9 ends again and again. */
import { once } from 'node:events';
import { expect } from 'vitest';
import type { DurableQueue } from '../../src/queue/move.ts';
import { fixtureCommand, startChild } from '../helpers/child-programs.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../helpers/seeded-random.ts';
import { closeApplication, entryOf, INITIAL } from './conformance/trial.ts';

export const MOVED_MESSAGES = 4000;

/** Each kill costs the start of a process. */
export const TIMEOUT_MS = quickOrNightly(60_000, 600_000);

/** Stores waiting messages and dead letters. */
export async function fillForKills(queue: DurableQueue): Promise<void> {
  await queue.open(INITIAL);
  const entries = Array.from({ length: MOVED_MESSAGES }, (_, n) => entryOf(`shop-${(n + 3) % 7}`));
  await queue.enqueue(entries);
  await closeApplication(queue);
  await queue.deadLetterClosed('shop-3', 500);
}

/** Moves from one place to the other, as the fixture names them. Only the last run ends by itself. */
export async function moveWithKills(from: string, to: string): Promise<void> {
  const random = createSeededRandom(1);
  const kills = quickOrNightly(4, 40);
  for (let run = 0; run < kills; run += 1) {
    const child = startChild(fixtureCommand('queue-move', [from, to]));
    const exited = once(child, 'exit');
    const killAt = Math.floor(((run + 1) * MOVED_MESSAGES) / (kills + 1) / 500) * 500;
    child.stdout?.on('data', (text: Buffer) => {
      const read = Number(text.toString().trim().split('\n').at(-1));
      // Somewhere in the commit that follows.
      if (read >= killAt) setTimeout(() => child.kill('SIGKILL'), random() * 20);
    });
    const [, signal] = await exited;
    expect(signal).toBe('SIGKILL');
  }
  const [code] = await once(startChild(fixtureCommand('queue-move', [from, to])), 'exit');
  expect(code).toBe(0);
}
