/** Moves of queues in SQLite files, with kill -9 in the middle. */
import { expect, test } from 'vitest';
import { exportQueue, importQueue, type QueueItem } from '../../../src/queue/move.ts';
import { manyOf } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';

test('queues of two files move into one', async () => {
  const target = await openQueue({ file: newFile(), sync: false });
  for (let count = 0; count < 2; count += 1) {
    const source = await openQueue({ file: newFile(), sync: false });
    await source.enqueue(manyOf('shop', 2));
    expect(await importQueue(target, exportQueue(source))).toBe(3);
    expect(await importQueue(target, exportQueue(source))).toBe(0);
  }
  expect(await target.stats()).toMatchObject({ accepted: 4, pending: 4 });
});

test('an import with an invalid item stores nothing of its call', async () => {
  const queue = await openQueue({ file: newFile() });
  await queue.enqueue(manyOf('shop', 1));
  const target = await openQueue({ file: newFile() });
  const items = [];
  for await (const item of exportQueue(queue)) items.push(item);
  const [application, message] = items as [QueueItem, QueueItem];
  const bad = { ...message, id: message.id + 1, due: 'soon' };
  await expect(importQueue(target, [application, message, bad])).rejects.toMatchObject({
    code: 'ERR_QUEUE_FAILED',
  });
  expect(await target.stats()).toMatchObject({ accepted: 0, pending: 0 });
  expect(await importQueue(target, [application, message])).toBe(1);
});
