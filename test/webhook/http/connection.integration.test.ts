/** Connections do not keep a process alive. */
import { describe, expect, test } from 'vitest';
import { createCertificate } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { hang, respond, type Step, startReceiver } from '../../helpers/receiver.ts';

describe('a process', () => {
  const certificate = createCertificate();
  const SCHEMES = [
    ['http', undefined],
    ['https', certificate],
  ] as const;

  const run = async (mode: string, script: Step[], tls: typeof certificate | undefined) => {
    await using receiver = await startReceiver({ script, ...(tls && { tls }) });
    await using silent = await startReceiver();
    const hangingUrl = silent.url.replace('http', 'https');
    const args = [mode, receiver.url, hangingUrl, ...(tls === undefined ? [] : [tls.cert])];
    const { stdout, ...end } = await runFixture('idle-connections.ts', args);
    return { ...end, output: JSON.parse(stdout) as Record<string, unknown> };
  };

  test.concurrent.for(SCHEMES)('does not wait for idle connections of %s', async ([, tls]) => {
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=600' };
    const { output, stderr, exitCode, lingeredMs } = await run(
      'leave',
      [respond({ headers })],
      tls,
    );
    expect({ output, stderr, exitCode }).toEqual({
      output: { outcomes: [200, 200, 200] },
      stderr: '',
      exitCode: 0,
    });
    // Without that the process would live for a minute, the maximum of keep-alive.
    expect(lingeredMs).toBeLessThan(5000);
  });

  test.concurrent.for(SCHEMES)('has no handle of %s left after close', async ([, tls]) => {
    const { output, stderr, exitCode } = await run('close', [respond(), hang()], tls);
    expect({ ...output, stderr, exitCode }).toEqual({
      outcomes: [200, 'aborted', 'aborted', 'aborted'],
      isBusy: true,
      left: [],
      stderr: '',
      exitCode: 0,
    });
  });
});
