/** Damaged rows and a damaged index of an open file: claims continue with the other messages. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { DurableQueue } from '../../../src/queue/queue.ts';
import type { SqliteQueueDamage } from '../../../src/queue/sqlite.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { deliverAll, entryOf, REQUEST } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';
import { integrityOf, withDatabase, wrongCountersOf } from './raw-database.ts';

interface QueueOnFile {
  readonly queue: DurableQueue;
  readonly file: string;
  readonly reported: SqliteQueueDamage[];
}

/** Opens a queue with these messages of the application "one", and then one of the application "two". */
async function openFilled(messageIds: readonly string[]): Promise<QueueOnFile> {
  const file = newFile();
  const reported: QueueOnFile['reported'] = [];
  const onDamage = (damage: SqliteQueueDamage) => void reported.push(damage);
  const queue = await openQueue({ file, onDamage }, createFakeClock());
  await queue.enqueue(messageIds.map((messageId) => entryOf('one', { messageId })));
  await queue.enqueue([entryOf('two', { messageId: 'other' })]);
  return { queue, file, reported };
}

/** What is reported of messages of the application "one". */
const reportOf = (file: string, messages: number): SqliteQueueDamage => ({
  file,
  kind: 'rows',
  applications: [{ applicationId: 'one', messages }],
  missingSequences: 0,
});

describe('damaged messages before all others', () => {
  test.each([
    { maxMessages: 2, damaged: 1, intact: ['a', 'b', 'c'] },
    { maxMessages: 2, damaged: 2, intact: ['a', 'b', 'c'] },
    { maxMessages: 2, damaged: 3, intact: ['a'] },
    { maxMessages: 1, damaged: 2, intact: [] },
  ])(
    'are set aside when there are $damaged, $intact follow and a claim takes $maxMessages',
    async ({ maxMessages, damaged, intact }) => {
      const ids = [...['x', 'y', 'z'].slice(0, damaged), ...intact];
      const subject = await openFilled(ids);
      withDatabase(subject.file, (other) =>
        other.exec(`update message set body = x'00' where sequence <= ${damaged}`),
      );
      const delivered = await deliverAll(subject.queue, { ...REQUEST, maxMessages });
      expect(delivered.toSorted()).toEqual([...intact, 'other']);
      expect(await subject.queue.claim(REQUEST)).toEqual({});
      expect(subject.reported).toEqual([reportOf(subject.file, damaged)]);
      expect(await subject.queue.stats()).toMatchObject({
        accepted: ids.length + 1,
        delivered: intact.length + 1,
        pending: 0,
        pendingBytes: 0,
        discarded: { damaged },
      });
      expect(wrongCountersOf(subject.file)).toEqual([]);
      const aside = withDatabase(subject.file, (other) =>
        other.prepare('select message_id from damaged_message').all(),
      );
      expect(aside).toEqual(ids.slice(0, damaged).map((id) => ({ message_id: id })));
    },
  );
});

/**
 * Changes rows while the schema does not have the index. The library that the queue uses would refuse to change the
 * schema.
 */
const REMOVE_FROM_INDEX = `
import sqlite3, sys
def run(work):
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute('pragma writable_schema = on')
    work(connection)
    connection.close()
index = []
def remove(connection):
    connection.execute('update message set application = 99 where application = 1')
    index.extend(connection.execute("select * from sqlite_schema where name = 'message_due'"))
    connection.execute("delete from sqlite_schema where name = 'message_due'")
    connection.execute('pragma schema_version = 5000')
def add(connection):
    connection.execute('update message set application = 1 where application = 99')
    connection.execute('insert into sqlite_schema values (?, ?, ?, ?, ?)', index[0])
    connection.execute('pragma schema_version = 5001')
run(remove)
run(add)
`;

test('messages that are missing from the index are claimed, and the damage is reported', async () => {
  const subject = await openFilled(['a', 'b']);
  execFileSync('python3', ['-c', REMOVE_FROM_INDEX, subject.file]);
  expect(integrityOf(subject.file)).toContain('missing from index message_due');
  const delivered = await deliverAll(subject.queue, { ...REQUEST, maxMessages: 1 });
  expect(delivered.toSorted()).toEqual(['a', 'b', 'other']);
  expect(subject.reported).toEqual([reportOf(subject.file, 0)]);
  expect(integrityOf(subject.file)).toBe('ok');
  expect(wrongCountersOf(subject.file)).toEqual([]);
});
