/** `exportQueue` and `importQueue`: what one durable queue holds, another one holds afterwards. */
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type DurableQueue,
  exportQueue,
  importQueue,
  type QueueItem,
} from '../../../src/queue/move.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import type { QueueHarness } from './harness.ts';
import {
  closeApplication,
  DEAD,
  DELIVERED,
  entryOf,
  FAILING,
  failedWith,
  INITIAL,
  idsOf,
  manyOf,
  REQUEST,
  retry,
  Trial,
} from './trial.ts';

/** The other end of a move: an open queue in a file. */
async function openFile(): Promise<DurableQueue> {
  const file = join(temporaryFolder(), 'other.db');
  const queue = createSqliteQueue({ file, sync: false }, createFakeClock());
  onTestFinished(async () => void (await queue.close()));
  await queue.open(INITIAL);
  return queue;
}

const moved = ({ queue }: Trial): DurableQueue => queue as DurableQueue;

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const nameOf = (item: QueueItem): string => String(item['application']);

/** All that a queue holds, without the names and ids that it gives. Applications have no order. */
export async function contentOf(queue: MessageQueue): Promise<object[]> {
  const items = await allOf(exportQueue(queue as DurableQueue));
  const applications = items.filter(({ kind }) => kind === 'application');
  const others = items.filter(({ kind }) => kind !== 'application');
  applications.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  return [...applications, ...others].map(plain);
}

const OWN_COLUMNS = ['source', 'id', 'sequence', 'body_checksum', 'progress_checksum'];

/** Without the columns that each queue has for itself. Base64 may have line ends. */
function plain(item: QueueItem): object {
  const columns = Object.entries(item).filter(([name]) => !OWN_COLUMNS.includes(name));
  const { body, ...others } = Object.fromEntries(columns);
  return body === undefined ? others : { ...others, body: Buffer.from(`${body}`, 'base64') };
}

/** Fills an open queue with each kind of thing that it can hold. */
async function fillForMove(trial: Trial): Promise<void> {
  const { queue } = trial;
  await queue.enqueue([entryOf('closed', { messageId: 'expired \0' }), entryOf('closed')]);
  await closeApplication(queue);
  await queue.deadLetterClosed('closed', 1);
  const bytes = Buffer.from([0, 255, 10]);
  await queue.enqueue([
    entryOf('one', { messageId: 'retried', bytes }),
    entryOf('one', { messageId: 'postponed' }),
    entryOf('one', { messageId: 'dead', bytes }),
  ]);
  const results = [retry(0, { maxMessages: 2, retryState: 3 }), retry(5000), DEAD];
  await trial.settle(await trial.claim(), results, { ...FAILING, pauseMs: 2000 });
  await queue.enqueue([
    entryOf('\0 \ud800', { messageId: 'same', sizeBytes: 300 }),
    entryOf('\0 \ud800', { messageId: 'same', format: 1 }),
  ]);
  await queue.enqueue([entryOf('one', { messageId: 'delayed' })], 1000);
}

/** Returns the health of the application `closed`, and what can be claimed. */
const closedIn = async ({ queue }: Trial): Promise<unknown[]> => [
  (await queue.applicationState('closed'))?.health,
  await queue.claim(REQUEST),
];

/** Fails after so many items. */
async function* failingAfter(items: readonly QueueItem[], count: number) {
  yield* items.slice(0, count);
  throw new Error('the source went away');
}

export function describeMoving(harness: QueueHarness): void {
  describe('a move', () => {
    test('keeps everything that the queue holds, to a file and back', async () => {
      const trial = await Trial.start(harness);
      await fillForMove(trial);
      const content = await contentOf(trial.queue);
      const ids = ['retried', 'postponed', 'same', 'same', 'delayed', 'dead', 'expired \\u0000'];
      for (const message_id of ids)
        expect(content).toContainEqual(expect.objectContaining({ message_id }));
      expect(content).toHaveLength(3 + ids.length + 1);
      const other = await openFile();
      // As through a file of JSON lines.
      const lines = (await allOf(exportQueue(moved(trial)))).map((item) => JSON.stringify(item));
      const items = lines.map((line) => JSON.parse(line) as QueueItem);
      expect(await importQueue(other, items)).toBe(content.length);
      expect(await importQueue(other, exportQueue(moved(trial)))).toBe(0);
      expect(await contentOf(other)).toEqual(content);
      const back = await Trial.start(harness);
      expect(await importQueue(moved(back), exportQueue(other))).toBe(content.length);
      expect(await importQueue(moved(back), exportQueue(other))).toBe(0);
      expect(await contentOf(back.queue)).toEqual(content);
      expect(await back.counts()).toEqual([8, 0, 6, 2]);
      expect((await back.enqueue('closed', 'late')).closed).toEqual(['closed']);
    });

    test('keeps sends, states and dead letters', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c');
      const results = [retry(0, { retryState: 3 }), DEAD, retry(1000)];
      await trial.settle(await trial.claim(), results, FAILING);
      const items = await allOf(exportQueue(moved(trial)));
      const target = await Trial.start(harness);
      let calls = 0;
      target.queue.onDue(() => {
        calls += 1;
      });
      await importQueue(moved(target), items);
      expect(calls).toBeGreaterThan(0);
      const claim = await target.claim();
      expect(claim).toMatchObject({ applicationId: 'one', state: FAILING });
      expect(claim.messages).toMatchObject([{ retryCount: 1, retryState: 3 }]);
      await target.settle(claim, DELIVERED);
      expect(await target.queue.replayDeadLetters({})).toBe(1);
      const replayed = await target.claim();
      expect([idsOf(replayed), replayed.messages[0]?.retryCount]).toEqual([['b'], 1]);
      await target.settle(replayed, DELIVERED);
      await target.advance(1000);
      expect(idsOf(await target.claim())).toEqual(['c']);
      expect(await target.counts()).toEqual([3, 2, 1, 0]);
    });

    test('stores nothing twice when it is repeated after a failure', async () => {
      const source = await openFile();
      await source.enqueue(manyOf('one', 1100));
      const items = await allOf(exportQueue(source));
      const content = await contentOf(source);
      const trial = await Trial.start(harness);
      await expect(importQueue(moved(trial), failingAfter(items, 1050))).rejects.toThrow('away');
      expect((await trial.queue.stats()).pending).toBe(1000);
      expect(await importQueue(moved(trial), items)).toBe(100);
      expect(await contentOf(trial.queue)).toEqual(content);
      await trial.settle(await trial.claim(), DELIVERED);
      expect(await importQueue(moved(trial), items)).toBe(0);
      expect(await trial.counts()).toEqual([1100, 1000, 100, 0]);
    });

    test.each([
      null,
      5,
      {},
      { kind: 'message' },
      { source: 's', kind: 'nope', id: 1, application: 'a' },
    ])('refuses the item %j, and stores none after it', async (item) => {
      const trial = await Trial.start(harness);
      const source = await openFile();
      await source.enqueue(manyOf('one', 1));
      const items = [item, ...(await allOf(exportQueue(source)))] as QueueItem[];
      await expect(importQueue(moved(trial), items)).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        path: ['items', 0],
      });
      expect(await trial.counts()).toEqual([0, 0, 0, 0]);
    });

    test('refuses its own items', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const importing = importQueue(moved(trial), exportQueue(moved(trial)));
      await expect(importing).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        path: ['items'],
        issues: [{ message: 'expected items of another queue' }],
      });
      expect(await trial.counts()).toEqual([1, 0, 1, 0]);
    });

    test('stores no message of a call that exceeds a limit', async () => {
      const trial = await Trial.start(harness, { maxPendingBytes: 250 });
      const source = await openFile();
      await source.enqueue([entryOf('one'), entryOf('one'), entryOf('two')]);
      await expect(importQueue(moved(trial), exportQueue(source))).rejects.toMatchObject({
        code: 'ERR_QUEUE_FULL',
        path: ['maxPendingBytes'],
      });
      expect(await contentOf(trial.queue)).toMatchObject([
        { kind: 'application' },
        { kind: 'application' },
      ]);
    });

    test('leaves an application of the target closed', async () => {
      const source = await openFile();
      await source.enqueue([entryOf('closed')]);
      const trial = await Trial.start(harness);
      await trial.enqueue('closed', 'a');
      await closeApplication(trial.queue);
      await importQueue(moved(trial), exportQueue(source));
      expect(await closedIn(trial)).toEqual(['closed', {}]);
    });

    test('closes an application while its messages are claimed', async () => {
      const source = await openFile();
      await source.enqueue([entryOf('closed')]);
      await closeApplication(source);
      const trial = await Trial.start(harness);
      await trial.enqueue('closed', 'a');
      const claim = await trial.claim();
      await importQueue(moved(trial), exportQueue(source));
      expect(await trial.settle(claim, DELIVERED, { health: 'healthy' })).toBe('settled');
      expect(await closedIn(trial)).toEqual(['closed', {}]);
    });

    test('lets old messages be dead-lettered although younger ones were there before', async () => {
      const source = await openFile();
      await source.enqueue([entryOf('old', { messageId: 'old' })]);
      const items = await allOf(exportQueue(source));
      const trial = await Trial.start(harness);
      await trial.queue.enqueue(manyOf('young', 201));
      const older = items.map((item) =>
        item.kind === 'message' ? { ...item, accepted: 1, due: 1 } : item,
      );
      await importQueue(moved(trial), older);
      const letters = await trial.queue.deadLetterOlderThan(50_000, 9);
      expect(letters.map(({ messageId }) => messageId)).toEqual(['old']);
    });

    test('ends the delay of messages that fill a claim', async () => {
      const source = await openFile();
      await source.enqueue([entryOf('one'), entryOf('one')], 1e9);
      const items = (await allOf(exportQueue(source))).map((item) =>
        item.kind === 'application' ? { ...item, max_messages: 3 } : item,
      );
      const trial = await Trial.start(harness);
      await importQueue(moved(trial), items);
      expect(await trial.nothing()).not.toEqual({});
      await trial.enqueue('one', 'last');
      expect((await trial.claim()).messages).toHaveLength(3);
    });

    test('is rejected while messages are claimed', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      await trial.claim({ leaseMs: 2000 });
      await expect(contentOf(trial.queue)).rejects.toEqual(failedWith('messages are claimed'));
      await trial.advance(2000);
      expect(await contentOf(trial.queue)).toMatchObject([{}, { sends: 1 }]);
    });
  });
}
