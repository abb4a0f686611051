import { describe, expect, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';
import { openReceiver } from '../helpers/poster.ts';
import { respond } from '../helpers/receiver.ts';

describe('the process of the caller', () => {
  test('ends by itself after the call, and loads undici only for it', async () => {
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=600' };
    const receiver = await openReceiver({ script: [respond({ headers })] });
    const run = await runFixture('host-that-sends-once.ts', [receiver.url]);
    expect({ ...run, stdout: JSON.parse(run.stdout), lingeredMs: 0 }).toEqual({
      exitCode: 0,
      stdout: { undiciBefore: false, undiciAfter: true, ok: true },
      stderr: '',
      lingeredMs: 0,
    });
    // An idle connection would be kept for a minute.
    expect(run.lingeredMs).toBeLessThan(3500);
  }, 60_000);

  test('prints each attempt and its outcome with NODE_DEBUG=security-events', async () => {
    const receiver = await openReceiver({
      script: [respond({ status: 503 }), respond({ status: 200 })],
    });
    const env = { NODE_DEBUG: 'security-events' };
    const { stderr } = await runFixture('host-that-sends-once.ts', [receiver.url], env);
    const lines = stderr.trim().split('\n');
    expect(lines).toEqual(
      [503, 200].map((status) =>
        expect.stringMatching(
          new RegExp(`^SECURITY-EVENTS \\d+: sendWebhook \\{"status":${status},"outcome":`),
        ),
      ),
    );
    expect(stderr).not.toMatch(/block_ips|127\.0\.0\.1/);
  }, 60_000);
});
