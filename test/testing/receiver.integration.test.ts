import { describe, expect, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';

describe('close', () => {
  test('ends all connections, and lets the process end', async () => {
    const { lingeredMs, ...run } = await runFixture('close-busy-receiver', []);
    expect(run).toEqual({ exitCode: 0, stdout: 'closed', stderr: '' });
    // The pending answers would take an hour.
    expect(lingeredMs).toBeLessThan(20_000);
  });
});
