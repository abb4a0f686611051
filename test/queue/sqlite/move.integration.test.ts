/** Moves of queues in SQLite files, with kill -9 in the middle. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type DurableQueue,
  exportQueue,
  importQueue,
  type QueueItem,
} from '../../../src/queue/move.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { entryOf, INITIAL } from '../conformance/trial.ts';

test('queues of two files move into one', async () => {
  const folder = temporaryFolder();
  const [one, two, target] = ['one', 'two', 'target'].map((name) =>
    createSqliteQueue({ file: join(folder, name), sync: false }),
  ) as [DurableQueue, DurableQueue, DurableQueue];
  for (const source of [one, two]) {
    await source.open(INITIAL);
    await source.enqueue([entryOf('shop'), entryOf('shop')]);
    expect(await importQueue(target, exportQueue(source))).toBe(3);
    expect(await importQueue(target, exportQueue(source))).toBe(0);
  }
  expect(await target.stats()).toMatchObject({ accepted: 4, pending: 4 });
  for (const queue of [one, two, target]) await queue.close();
});

test('an import with an invalid item stores nothing of its call', async () => {
  const queue = createSqliteQueue({ file: join(temporaryFolder(), 'queue.db') });
  await queue.open(INITIAL);
  await queue.enqueue([entryOf('shop')]);
  const target = createSqliteQueue({ file: join(temporaryFolder(), 'target.db') });
  const items = [];
  for await (const item of exportQueue(queue)) items.push(item);
  const [application, message] = items as [QueueItem, QueueItem];
  const bad = { ...message, id: message.id + 1, due: 'soon' };
  await expect(importQueue(target, [application, message, bad])).rejects.toMatchObject({
    code: 'ERR_QUEUE_FAILED',
  });
  expect(await target.stats()).toMatchObject({ accepted: 0, pending: 0 });
  expect(await importQueue(target, [application, message])).toBe(1);
  await queue.close();
  await target.close();
});
