import { describe, expect, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';

describe('close', () => {
  test('ends what is open, whatever is being done to it, and holds the process no longer', async () => {
    const { lingeredMs, ...run } = await runFixture('close-busy-receiver', []);
    expect(run).toEqual({ exitCode: 0, stdout: 'closed', stderr: '' });
    // What is still to be done would take an hour.
    expect(lingeredMs).toBeLessThan(20_000);
  });
});
