import { expect, onTestFinished, test } from 'vitest';
import { type Change, changeAll, Replay } from '../../../src/cli/dead/replay.ts';
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
  const replay = new Replay(letters, false);
  const { change } = replay;
  const changed = await changeAll(letters, { selection: {}, change }, fakeTerminal());
  expect(changed).toEqual({ count: 250, unknown: new Set() });
  expect(replay).toMatchObject({ isFull: true, closed: {} });
  expect(await letters.stats()).toMatchObject({ pending: 250, dead: 250 });
});

test('what dies while others are replayed is not replayed, over and over', async () => {
  const queue = createMemoryQueue();
  await bury(queue, deaths(300));
  const letters = createWebhookSender({ queue, role: 'enqueue', settings: { applications: {} } });
  onTestFinished(async () => void (await letters.close({ deadlineMs: 0 })));
  const pages: number[] = [];
  const change: Change = async (page) => {
    await letters.purge({ ids: page.map(({ id }) => id) });
    await bury(queue, deaths(page.length));
    return { count: pages.push(page.length) };
  };
  await changeAll(letters, { selection: {}, change }, fakeTerminal());
  expect(pages).toEqual([200, 100]);
});
