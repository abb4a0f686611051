/** The worker's loop in this thread: when it looks for what other processes have made due. */
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { peerPath } from '../../../src/queue/sqlite/file-worker.ts';
import { FileThread } from '../../../src/queue/sqlite/worker/main.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import { entryOf, INITIAL } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';

const SETTINGS = {
  sync: false,
  initialState: INITIAL,
  maxPendingBytes: 1e9,
  maxPendingMessages: 1e6,
  maxDeadBytes: 1e9,
};

test('the worker of a file waits 50 ms at most between two polls, and each notices what became due', async () => {
  const waits: number[] = [];
  const ends: (() => void)[] = [];
  const sleeping = vi.spyOn(systemClock, 'sleepUnref').mockImplementation((ms) => {
    waits.push(ms);
    return new Promise((resolve) => void ends.push(resolve));
  });
  onTestFinished(() => sleeping.mockRestore());
  const file = newFile();
  const other = await openQueue({ file, sync: false });
  const { port1: port, port2 } = new MessageChannel();
  onTestFinished(() => port.close());
  const gate = new SharedArrayBuffer(8);
  new FileThread(port2, { file, peerPath: peerPath(), gate, inode: undefined }).listen();

  const received = (): unknown => receiveMessageOnPort(port)?.message;
  const poll = async (): Promise<unknown> => {
    ends.at(-1)?.();
    await nextTurn();
    return received();
  };
  const call = { id: 1, operation: 'stats', nowMs: null, settings: SETTINGS, args: [], bytesAt: 0 };
  port.postMessage({ calls: [call], bytes: new Uint8Array(0) });
  await vi.waitUntil(received, { timeout: 20_000 });
  await poll();
  for (let round = 0; round < 3; round += 1) {
    expect(await poll()).toBeUndefined();
    await other.enqueue([entryOf('one')]);
    expect(await poll()).toMatchObject({ due: true });
  }
  expect(waits).toHaveLength(8);
  expect(Math.max(...waits)).toBeLessThanOrEqual(50);
});
