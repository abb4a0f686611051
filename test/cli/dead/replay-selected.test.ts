import { expect, onTestFinished, test } from 'vitest';
import { replaySelected } from '../../../src/cli/dead/replay-selected.ts';
import { type Act, sweep } from '../../../src/cli/dead/sweep.ts';
import { createWebhookSender } from '../../../src/index.ts';
import { createMemoryQueue } from '../../../src/queue/memory.ts';
import { bury, deaths } from '../../helpers/queues.ts';
import { fakeTerminal } from '../../helpers/terminal.ts';

test('replaying ends where the queue is full, and says so', async () => {
  const queue = createMemoryQueue({ maxPendingMessages: 250 });
  // One call brings in no more than may wait.
  for (let call = 0; call < 2; call += 1) await bury(queue, deaths(250));
  const letters = createWebhookSender({ queue, role: 'enqueue', settings: { applications: {} } });
  onTestFinished(async () => void (await letters.close({ deadlineMs: 0 })));
  const wanted = { selection: { limit: Infinity }, isDryRun: false, reopens: false };
  expect(await replaySelected(letters, wanted, fakeTerminal())).toEqual({
    replayed: 250,
    isDryRun: false,
    closed: {},
    isFull: true,
    unknown: [],
  });
  expect(await letters.stats()).toMatchObject({ pending: 250, dead: 250 });
});

test('what dies while others are replayed is not replayed, over and over', async () => {
  const queue = createMemoryQueue();
  await bury(queue, deaths(300));
  const letters = createWebhookSender({ queue, role: 'enqueue', settings: { applications: {} } });
  onTestFinished(async () => void (await letters.close({ deadlineMs: 0 })));
  const pages: number[] = [];
  const act: Act = async (page) => {
    await letters.purge({ ids: page.map(({ id }) => id) });
    await bury(queue, deaths(page.length));
    return { count: pages.push(page.length) };
  };
  const selection = { limit: Infinity };
  await sweep(letters, { selection, done: 'replayed', act }, fakeTerminal());
  expect(pages).toEqual([200, 100]);
});
