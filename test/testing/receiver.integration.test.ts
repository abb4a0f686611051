import { describe, expect, test } from 'vitest';
import { runFixture } from '../helpers/run-fixture.ts';

describe('close', () => {
  test('ends what is open, whatever is being done to it, and holds the process no longer', async () => {
    const { lingeredMs, ...run } = await runFixture('receiver-close', []);
    expect(run).toEqual({ exitCode: 0, stdout: 'closed', stderr: '' });
    // What is still to be done would take an hour.
    expect(lingeredMs).toBeLessThan(20_000);
  });
});
