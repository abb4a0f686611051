import { describe, expect, type onTestFinished, test } from 'vitest';
import type { FlushResult } from '../../src/index.ts';
import type { ReceiverOptions } from '../../src/testing/index.ts';
import { fixtureCommand, runProgram } from '../helpers/child-programs.ts';
import { root } from '../helpers/package-files.ts';
import { batches, ids, NONE, openReceiver } from '../helpers/sender.ts';

/** A host plays a scene, and ends by itself: it says nothing but what it tells. */
async function host(
  onFinished: typeof onTestFinished,
  scene: string,
  options: ReceiverOptions,
  program = 'host-with-sender',
) {
  const receiver = await openReceiver(options, onFinished);
  const [, ...command] = fixtureCommand(program, [scene, receiver.url]);
  const { stdout, stderr, exitCode } = await runProgram(command, { cwd: root });
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return { receiver, printed: JSON.parse(stdout) as unknown };
}

/** The names of the events that `NODE_DEBUG` printed. */
const debugged = (stderr: string): string[] =>
  stderr
    .trim()
    .split('\n')
    .map((line) => /^SECURITY-EVENTS \d+: ([\w-]+) \{"senderId":"/.exec(line)?.[1] ?? line);

const FAILING = { otherwise: { status: 500 } } as const;
const FAILING_ONCE = { script: [{ status: 500 }] } as const;

/** Processes of their own, on a machine that may be busy. */
const TIMEOUT = { timeout: 90_000 } as const;

describe.concurrent('a process', TIMEOUT, () => {
  test('ends by itself while messages wait for a retry: they are not delivered (D80)', async (context) => {
    const { printed, receiver } = await host(context.onTestFinished, 'waits for a retry', FAILING);
    expect(printed).toEqual({ settled: [500] });
    expect(batches(receiver)).toEqual([ids(2)]);
  });

  test('is held by an attempt in flight, until its deadline', async (context) => {
    const { printed } = await host(context.onTestFinished, 'has an attempt in flight', {
      otherwise: { fault: 'hang' },
    });
    expect(printed).toEqual({ settled: ['deadline'] });
  });

  test('is held by a flush, and prints its steps with NODE_DEBUG=security-events, without secrets (D83)', async (context) => {
    const receiver = await openReceiver(FAILING_ONCE, context.onTestFinished);
    const [, ...command] = fixtureCommand('host-with-sender', ['waits for a flush', receiver.url]);
    const env = { NODE_DEBUG: 'security-events' };
    const { stdout, stderr } = await runProgram(command, { cwd: root, env });
    expect(JSON.parse(stdout)).toEqual({ flushed: { ...NONE, delivered: 2 } });
    expect(batches(receiver)).toEqual([ids(2), ids(2)]);
    expect(debugged(stderr)).toEqual([
      'accepted',
      'attempt-started',
      'attempt-settled',
      'attempt-started',
      'attempt-settled',
    ]);
    expect(stderr).toContain('"outcome":"later","status":500,');
    expect(stderr).toContain('"outcome":"delivered","status":200,');
    expect(stderr).not.toMatch(/a-signing-secret|127\.0\.0\.1|playbook/);
  });

  test('is not held by a flush that was ended', async (context) => {
    const { printed } = await host(context.onTestFinished, 'has ended its flush', FAILING);
    const { failures = [], ...counts } = (printed as { flushed: FlushResult }).flushed;
    expect(counts).toEqual({ ...NONE, pending: 2 });
    // The first attempt may not have begun or ended yet.
    const reasons = failures.map(({ status, failure }) => status ?? failure);
    expect([[], ['deadline'], [500]]).toContainEqual(reasons);
  });

  test('delivers all messages before it exits, with flushBeforeExitMs', async (context) => {
    const { printed, receiver } = await host(
      context.onTestFinished,
      'flushes before it exits, once for each lot',
      FAILING_ONCE,
    );
    expect(printed).toEqual({ settled: [500, 200, 200] });
    const [first, ...others] = batches(receiver);
    expect(first).toEqual(ids(1));
    // The retry of the first lot and the second lot do not wait for each other.
    expect(others.toSorted((a, b) => a.length - b.length)).toEqual([ids(1), ids(2)]);
  });

  test('has nothing left of a thousand calls that failed, once the sender is closed', async (context) => {
    const { printed, receiver } = await host(
      context.onTestFinished,
      'leaves nothing behind',
      FAILING,
    );
    expect(printed).toEqual({
      returned: 1000,
      warnings: [],
      // All copies of the package in a process share the current request.
      newKeys: ['Symbol(security-event-delivery.async-context)'],
      newListeners: [],
      newResources: [],
    });
    expect(receiver.requests.length).toBeGreaterThanOrEqual(50);
  });
});

describe.concurrent('senders of their own', TIMEOUT, () => {
  const OF_TWO = ['a-0', 'a-1', 'b-0', 'b-1'];

  test('in threads deliver what they are given, hold no thread, and may be terminated at any time', async (context) => {
    const { printed, receiver } = await host(
      context.onTestFinished,
      'threads',
      {
        script: ({ messageIds: [id = ''] }) => {
          if (id.startsWith('hang')) return { fault: 'hang' };
          return { status: id.startsWith('retry') ? 500 : 200 };
        },
      },
      'sender-threads',
    );
    expect(printed).toEqual({ terminated: 1, ended: [0, 0, 0] });
    expect(receiver.acceptedCounts()).toEqual(new Map(OF_TWO.map((id) => [id, 1])));
    expect(batches(receiver)).toContainEqual(['retry-0', 'retry-1']);
  });
});
