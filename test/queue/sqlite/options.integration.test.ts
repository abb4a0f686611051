import { describe, expect, test } from 'vitest';
import {
  createSqliteIncidents,
  createSqliteQueue,
  type SqliteIncidentsOptions,
  type SqliteQueueOptions,
} from '../../../src/queue/sqlite.ts';
import { claimFrom, DEAD, entryOf, failedWith, settleAll } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';

describe('the options of a queue in an SQLite file', () => {
  test.each([
    [undefined, [], 'expected the options to be an object'],
    [{}, ['file'], 'expected file to be a path'],
    [{ file: '' }, ['file'], 'expected file to be a path'],
    [{ file: ':memory:' }, ['file'], 'expected file to be a path (not :memory:)'],
    [{ file: 'a', sync: 1 }, ['sync'], 'expected sync to be true or false'],
    [{ file: 'a', maxPendingBytes: 0 }, ['maxPendingBytes'], 'an integer from 1'],
    [{ file: 'a', maxPendingMessages: 1.5 }, ['maxPendingMessages'], 'an integer from 1'],
    [{ file: 'a', maxDeadBytes: -1 }, ['maxDeadBytes'], 'an integer from 0'],
    [{ file: 'a', onDamage: true }, ['onDamage'], 'expected onDamage to be a function'],
    [{ file: 'a', more: 1 }, ['more'], 'unknown key "more" in the options'],
  ])('refuse %j and say why', (options, path, text) => {
    const create = () => createSqliteQueue(options as unknown as SqliteQueueOptions);
    expect(create).toThrow(failedWith(text, 'ERR_INVALID_OPTION'));
    expect(create).toThrow(expect.objectContaining({ path }));
  });

  test.each([
    [{}, ['file']],
    [{ file: 'a', maxIncidents: 0 }, ['maxIncidents']],
    [{ file: 'a', maxAddressesAndAccounts: 0.5 }, ['maxAddressesAndAccounts']],
    [{ file: 'a', retentionMs: 0 }, ['retentionMs']],
  ])('refuse %j for incidents', (options, path) => {
    const create = () => createSqliteIncidents(options as unknown as SqliteIncidentsOptions);
    expect(create).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }));
  });

  test('decide what its messages survive', () => {
    expect(createSqliteQueue({ file: 'a' }).durability).toBe('power-loss');
    expect(createSqliteQueue({ file: 'a', sync: false }).durability).toBe('process-crash');
  });

  test('keep as many dead letters as maxDeadBytes allows, the newest', async () => {
    const queue = await openQueue({ file: newFile(), maxDeadBytes: 250 });
    const ids = ['a', 'b', 'c', 'd'];
    await queue.enqueue(ids.map((messageId) => entryOf('one', { messageId })));
    await settleAll(queue, await claimFrom(queue), { result: DEAD });
    const { items } = await queue.listDeadLetters({ limit: 10 });
    expect(items.map(({ stored }) => stored.messageId)).toEqual(['c', 'd']);
    expect(await queue.stats()).toMatchObject({ dead: 2, discarded: { evicted: 2 } });
  });
});
