import { expect, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';

test.each([
  ['security-events', /^SECURITY-EVENTS \d+: receiver Error: the database is away\n +at /],
  ['', /^$/],
])(
  'NODE_DEBUG=%s decides whether errors of onMessages are printed',
  async (debug, printed) => {
    const env = { NODE_DEBUG: debug };
    const { stdout, stderr } = await runFixture('receiver-that-fails.ts', [], env);
    expect(stdout).toBe('500');
    expect(stderr).toMatch(printed);
  },
  60_000,
);
