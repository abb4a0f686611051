import { describe, expect, test } from 'vitest';
import { loadUndici } from '../../../src/webhook/http/load-undici.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { startReceiver } from '../../helpers/receiver.ts';

const SCENES: readonly (readonly [title: string, scene: string, expected: object])[] = [
  [
    'undici is not loaded before the first post',
    'import only',
    { before: 0, status: 200, loadedAfterPost: true },
  ],
  [
    'a host that has not used fetch finds no new global, and its fetch is served by Node',
    'no fetch before',
    {
      status: 200,
      addedKeys: [],
      removedKeys: [],
      dispatchersAfterPost: [false, false],
      fetched: 200,
      fetchServedByOurCopy: false,
    },
  ],
  [
    'a host that has used fetch finds every global as it was',
    'fetch before',
    { status: 200, changed: [], fetched: 200 },
  ],
  [
    "a host's own global dispatcher stays, serves its fetch and is not used by a post",
    'own dispatcher before',
    {
      status: 200,
      changed: [],
      stillItsOwn: true,
      dispatchedByPost: 0,
      dispatchedByFetch: 1,
    },
  ],
  [
    'a host that imports the same copy of undici afterwards finds it whole',
    'undici afterwards',
    { status: 200, requested: 200, fetched: 200, itsOwnDispatcher: true },
  ],
];

describe('loadUndici', () => {
  test.concurrent.for(SCENES)('%s', { timeout: 20_000 }, async (row, { onTestFinished }) => {
    const [, scene, expected] = row;
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const run = await runFixture('host-that-posts.ts', [scene, receiver.url]);
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout)).toEqual(expected);
    expect(run.exitCode).toBe(0);
  });

  test('hands out what the entry of undici hands out', async () => {
    const { Client, buildConnector } = await loadUndici();
    const entry = await import('undici');
    expect(Client).toBe(entry.Client);
    expect(buildConnector).toBe(entry.buildConnector);
  });
});
