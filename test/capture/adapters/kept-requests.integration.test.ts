/** Nothing of a finished request stays in memory: one process for each host. */
import { expect, test } from 'vitest';
import { runFixture } from '../../helpers/child-programs.ts';

test.concurrent.each(['node:http', 'express', 'fastify', 'hono'])(
  'a finished request of %s is not kept in memory',
  async (host) => {
    const run = await runFixture('request-leak', [host]);
    expect(run).toMatchObject({ exitCode: 0, stdout: 'kept 0 of 200\n', stderr: '' });
  },
);
