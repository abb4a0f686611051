/** That nothing of a request is kept when it is over, on each host: a process for each. */
import { expect, test } from 'vitest';
import { runFixture } from '../../helpers/child-programs.ts';

test.concurrent.each(['node:http', 'express', 'fastify', 'hono'])(
  'nothing of a request of %s is kept when it is over',
  async (host) => {
    const run = await runFixture('request-leak', [host]);
    expect(run).toMatchObject({ exitCode: 0, stdout: 'kept 0 of 200\n', stderr: '' });
  },
);
