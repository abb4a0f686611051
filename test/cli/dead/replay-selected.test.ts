import { expect, onTestFinished, test } from 'vitest';
import type { DeadLetters } from '../../../src/cli/dead/letters.ts';
import { type Change, changeAll, replayPage } from '../../../src/cli/dead/replay.ts';
import { createWebhookSender } from '../../../src/index.ts';
import { createMemoryQueue, type MessageQueue } from '../../../src/queue/memory.ts';
import { addDeadLetters, deadLetterSpecs } from '../../helpers/queues.ts';
import { fakeTerminal } from '../../helpers/terminal.ts';
import { closeApplication, entryOf } from '../../queue/conformance/trial.ts';

/** A sender whose dead letters a command changes. */
function lettersOf(queue: MessageQueue) {
  const letters = createWebhookSender({ queue, role: 'enqueue', settings: { applications: {} } });
  onTestFinished(async () => void (await letters.close({ deadlineMs: 0 })));
  return letters;
}

const replayAll = (letters: DeadLetters) =>
  changeAll(letters, { selection: {}, change: replayPage(false) }, fakeTerminal());

test('dead replay stops when the queue is full, and says so', async () => {
  const queue = createMemoryQueue({ maxPendingMessages: 250 });
  // One call adds no more messages than may wait.
  for (let call = 0; call < 2; call += 1) await addDeadLetters(queue, deadLetterSpecs(250));
  const letters = lettersOf(queue);
  const changed = await replayAll(letters);
  expect(changed).toEqual({ count: 250, unknown: new Set(), isFull: true, closed: {} });
  expect(await letters.stats()).toMatchObject({ pending: 250, dead: 250 });
});

test.each([
  [{}, '3 of 3 done'],
  [{ limit: 2 }, '2 of 2 done'],
  // How many have the reason is unknown until all are read.
  [{ reason: 'attempts-exhausted' }, '3 done'],
  [{ sinceMs: 0 }, '3 done'],
] as const)(
  'dead replay shows how many of the selected ones are done: %j',
  async (selection, text) => {
    const queue = createMemoryQueue();
    await addDeadLetters(queue, deadLetterSpecs(3));
    const letters = lettersOf(queue);
    const terminal = fakeTerminal({ isTerminal: true });
    await changeAll(letters, { selection, change: replayPage(false) }, terminal);
    expect(terminal.stderr()).toContain(`\u001B[K${text}\r`);
  },
);

/** A sender with three dead letters of the application `one`, whose destination is closed. */
async function lettersOfClosed() {
  const queue = createMemoryQueue();
  await addDeadLetters(queue, deadLetterSpecs(3, { applicationId: 'one' }));
  await queue.enqueue([entryOf('one')]);
  await closeApplication(queue);
  return lettersOf(queue);
}

test('dead replay replays what a service reopened meanwhile, and does not say that the queue is full', async () => {
  const letters = await lettersOfClosed();
  const replay: typeof letters.replay = async (selection) => {
    const replayed = await letters.replay(selection);
    await letters.reopen('one');
    return replayed;
  };
  const changed = await replayAll({ ...letters, replay });
  expect(changed).toEqual({ count: 3, unknown: new Set(), isFull: false, closed: {} });
});

test('dead replay does not say that the queue is full when a destination closes meanwhile', async () => {
  const letters = await lettersOfClosed();
  let calls = 0;
  // Open while its health is read, and closed again before the second replay.
  const stats: typeof letters.stats = async () => {
    calls += 1;
    const found = await letters.stats();
    if (calls !== 2) return found;
    const applications = [...found.applications].map(
      ([id, one]) => [id, { ...one, health: 'healthy' }] as const,
    );
    return { ...found, applications: new Map(applications) };
  };
  const changed = await replayAll({ ...letters, stats });
  expect(changed).toEqual({ count: 0, unknown: new Set(), isFull: false, closed: { one: 3 } });
});

test('dead replay leaves out messages that die while it runs', async () => {
  const queue = createMemoryQueue();
  await addDeadLetters(queue, deadLetterSpecs(300));
  const letters = lettersOf(queue);
  const pages: number[] = [];
  const change: Change = async (_letters, page) => {
    await letters.purge({ ids: page.map(({ id }) => id) });
    await addDeadLetters(queue, deadLetterSpecs(page.length));
    pages.push(page.length);
  };
  await changeAll(letters, { selection: {}, change }, fakeTerminal());
  expect(pages).toEqual([200, 100]);
});
