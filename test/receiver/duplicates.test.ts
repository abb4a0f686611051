import { describe, expect, test, vi } from 'vitest';

import { Deduplicator } from '../../src/receiver/duplicates.ts';
import { createMemoryDuplicates } from '../../src/receiver/index.ts';
import type { ReceivedMessage } from '../../src/receiver/parse-body.ts';
import { createFakeClock, sampleMessage } from '../../src/testing/index.ts';
import { deferred } from '../helpers/promises.ts';

const message = (id: string | null, index = 0): ReceivedMessage => ({
  index,
  format: 2,
  id,
  isKnownType: true,
  unknown: [],
  message: sampleMessage('test'),
});

const known = (store: ReturnType<typeof createMemoryDuplicates>, ...ids: string[]) => [
  ...store.has(ids),
];

describe('ids in memory', () => {
  test('are those that were added', () => {
    const store = createMemoryDuplicates();
    store.add(['a', 'b']);
    expect(known(store, 'a', 'b', 'c')).toEqual(['a', 'b']);
  });

  test('are limited by maxIds, the oldest are dropped first', () => {
    const store = createMemoryDuplicates({ maxIds: 2 });
    store.add(['a', 'b']);
    store.add(['a', 'c']);
    expect(known(store, 'a', 'b', 'c')).toEqual(['a', 'c']);
  });

  test('are kept for retentionMs', async () => {
    const clock = createFakeClock();
    const store = createMemoryDuplicates({ retentionMs: 1000 }, clock);
    store.add(['a']);
    await clock.advance(500);
    store.add(['b']);
    await clock.advance(499);
    expect(known(store, 'a', 'b')).toEqual(['a', 'b']);
    await clock.advance(1);
    expect(known(store, 'a', 'b')).toEqual(['b']);
  });

  test('may be of any length', () => {
    const store = createMemoryDuplicates();
    const long = 'x'.repeat(100_000);
    store.add([long]);
    expect(known(store, long, `${long}x`)).toEqual([long]);
  });

  test.each([
    ['maxIds', { maxIds: 0 }],
    ['retentionMs', { retentionMs: 0 }],
    ['maxId', { maxId: 1 } as never],
  ])('refuse an invalid %s', (path, options) => {
    expect(() => createMemoryDuplicates(options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [path] }),
    );
  });
});

describe('messages', () => {
  const handled: (string | null)[][] = [];
  const handle = (messages: readonly ReceivedMessage[]): void => {
    handled.push(messages.map(({ id }) => id));
  };
  const taken = () => handled.splice(0);

  test('are passed on once, also if one body has an id twice', async () => {
    const once = new Deduplicator(createMemoryDuplicates());
    expect(await once.run([message('a'), message('b'), message('a')], handle)).toBe(1);
    expect(await once.run([message('b'), message('c')], handle)).toBe(1);
    expect(await once.run([message('b'), message('c')], handle)).toBe(2);
    expect(taken()).toEqual([['a', 'b'], ['c']]);
  });

  test('without an id are always passed on', async () => {
    const once = new Deduplicator(createMemoryDuplicates());
    expect(await once.run([message(null), message(null)], handle)).toBe(0);
    expect(await once.run([message(null)], handle)).toBe(0);
    expect(taken()).toEqual([[null, null], [null]]);
  });

  test('without an id do not reach the store, where `id in ()` is an error of SQL', async () => {
    const store = createMemoryDuplicates();
    const [has, add] = [vi.spyOn(store, 'has'), vi.spyOn(store, 'add')];
    const once = new Deduplicator(store);
    for (const ids of [[null], ['a'], ['a', null]])
      await once.run(
        ids.map((id) => message(id)),
        handle,
      );
    expect(taken()).toEqual([[null], ['a'], [null]]);
    expect(has.mock.calls).toEqual([[['a']], [['a']]]);
    expect(add.mock.calls).toEqual([[['a']]]);
  });

  test('are handled again if the store could not record them', async () => {
    const broken = { has: () => new Set<string>(), add: () => Promise.reject(new Error('away')) };
    const once = new Deduplicator(broken);
    await expect(once.run([message('a')], handle)).rejects.toThrow('away');
    await expect(once.run([message('a')], handle)).rejects.toThrow('away');
    expect(taken()).toEqual([['a'], ['a']]);
  });

  test.each([undefined, true, ['a'], {}])('are not handled if the store has %j', async (found) => {
    const once = new Deduplicator({ has: async () => found as never, add: () => {} });
    await expect(once.run([message('a')], handle)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['duplicates'],
    });
    expect(taken()).toEqual([]);
  });

  test.each([
    ['succeeds', true],
    ['fails', false],
  ])('that arrive again during handling wait until it %s', async (_how, isFine) => {
    const once = new Deduplicator(createMemoryDuplicates());
    const { promise, resolve, reject } = deferred();
    const first = once.run([message('a'), message('b')], () => promise);
    const firstEnded = Promise.allSettled([first]);
    // Both wait for the first, and only one of them may handle it after a failure.
    const again = [
      once.run([message('a')], handle),
      once.run([message('a'), message('b')], handle),
    ];
    expect(await once.run([message('c')], handle)).toBe(0);
    expect(taken()).toEqual([['c']]);
    if (isFine) resolve();
    else reject(new Error('full disk'));
    await firstEnded;
    const duplicates = await Promise.all(again);
    expect(duplicates).toEqual(isFine ? [1, 2] : [0, 1]);
    expect(taken()).toEqual(isFine ? [] : [['a'], ['b']]);
  });
});
