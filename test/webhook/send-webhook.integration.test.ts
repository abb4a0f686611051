import { describe, expect, onTestFinished, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';
import { startReceiver } from '../helpers/receiver.ts';

describe('the process of the caller', () => {
  test('ends by itself after the call, and loads undici only for it', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const run = await runFixture('host-that-sends-once.ts', [receiver.url]);
    expect({ ...run, stdout: JSON.parse(run.stdout), lingeredMs: 0 }).toEqual({
      exitCode: 0,
      stdout: { undiciBefore: false, undiciAfter: true, ok: true },
      stderr: '',
      lingeredMs: 0,
    });
    // An idle connection would be kept for 4 s.
    expect(run.lingeredMs).toBeLessThan(3500);
  }, 30_000);
});
