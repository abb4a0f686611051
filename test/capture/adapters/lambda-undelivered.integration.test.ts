import { expect, test } from 'vitest';
import { runFixture } from '../../helpers/child-programs.ts';

test.each([
  ['security-events', 1],
  ['', 0],
])(
  'NODE_DEBUG=%s decides whether messages that a Lambda function leaves are printed, once',
  async (debug, times) => {
    const env = { NODE_DEBUG: debug };
    const { stdout, stderr } = await runFixture('lambda-undelivered.ts', [], env);
    expect(stdout).toBe('"answered"');
    expect(stderr.match(/lambda-undelivered \{\s+delivered: 0,\s+pending: 1/g) ?? []).toHaveLength(
      times,
    );
    expect(stderr.includes("failure: 'connection-refused'")).toBe(times > 0);
  },
  60_000,
);
