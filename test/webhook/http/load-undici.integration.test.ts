import { describe, expect, test } from 'vitest';
import { loadUndici } from '../../../src/webhook/http/load-undici.ts';
import {
  fixtureCommand,
  runFixture,
  startChild,
  waitForExit,
} from '../../helpers/child-programs.ts';
import { openReceiver } from '../../helpers/poster.ts';

/** Shared by all copies of the package: see src/runtime/async-context.ts. */
const OUR_GLOBALS = ['Symbol(security-event-delivery.async-context)'];

const SCENES: readonly (readonly [title: string, scene: string, expected: object])[] = [
  [
    'undici is not loaded before the first post',
    'import only',
    { before: 0, status: 200, loadedAfterPost: true },
  ],
  [
    'a host that has not used fetch gets no globals of undici, and Node serves its fetch',
    'no fetch before',
    {
      status: 200,
      addedKeys: OUR_GLOBALS,
      removedKeys: [],
      dispatchersAfterPost: [false, false],
      fetched: 200,
      fetchServedByOurCopy: false,
    },
  ],
  [
    'a host that has used fetch keeps all its globals unchanged',
    'fetch before',
    { status: 200, changed: OUR_GLOBALS, fetched: 200 },
  ],
  [
    "a host's own global dispatcher stays, serves its fetch and is not used by a post",
    'own dispatcher before',
    {
      status: 200,
      changed: OUR_GLOBALS,
      stillItsOwn: true,
      dispatchedByPost: 0,
      dispatchedByFetch: 1,
    },
  ],
  [
    'a host can import and use the same copy of undici afterwards',
    'undici afterwards',
    { status: 200, requested: 200, fetched: 200, itsOwnDispatcher: true },
  ],
];

describe('loadUndici', () => {
  test.concurrent.for(SCENES)('%s', { timeout: 60_000 }, async (row, { onTestFinished }) => {
    const [, scene, expected] = row;
    const receiver = await openReceiver({}, onTestFinished);
    const run = await runFixture('host-that-posts.ts', [scene, receiver.url]);
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout)).toEqual(expected);
    expect(run.exitCode).toBe(0);
  });

  test.skipIf(process.platform === 'win32')(
    'tries again after it found no file that it could open',
    async () => {
      const receiver = await openReceiver();
      const program = fixtureCommand('host-that-posts', ['no files left', receiver.url]);
      const child = startChild(['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh', ...program]);
      const { code, stdout, stderr } = await waitForExit(child);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toEqual([expect.stringContaining('(EMFILE)'), 200]);
    },
  );

  test('returns the exports of undici', async () => {
    const { Client, buildConnector } = await loadUndici();
    const entry = await import('undici');
    expect(Client).toBe(entry.Client);
    expect(buildConnector).toBe(entry.buildConnector);
  });
});
