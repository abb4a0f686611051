import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { WaitingMessage } from '../../../src/queue/memory/message.ts';
import { WaitingMessages } from '../../../src/queue/memory/waiting-messages.ts';
import { entryOf } from '../conformance/trial.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

function messageAt(sequence: number, dueMs = 0): WaitingMessage {
  const message = new WaitingMessage(entryOf('one'), '');
  message.startWaiting(sequence, 0, dueMs);
  return message;
}

/** Appends the same message many times, so that only its places take memory. */
function filled(count: number): WaitingMessages {
  const waiting = new WaitingMessages();
  const message = messageAt(1);
  for (let index = 0; index < count; index += 1) waiting.append(message);
  return waiting;
}

describe('the waiting messages of an application', () => {
  test('are copied at most once on average while they are taken', () => {
    const COUNT = 1000;
    const waiting = filled(COUNT);
    const slice = vi.spyOn(Array.prototype, 'slice');
    onTestFinished(() => slice.mockRestore());
    for (let taken = 0; taken < COUNT; taken += 1) waiting.shift();
    const copied = slice.mock.results.reduce((sum, { value }) => sum + value.length, 0);
    expect(copied).toBeLessThanOrEqual(COUNT);
  });

  test.each([0, 1000])('release the memory of a burst when %i of it are left', (left) => {
    const COUNT = 300_000;
    const before = heapBytes();
    const waiting = filled(COUNT);
    expect(heapBytes() - before).toBeGreaterThan(4 * COUNT);
    for (let taken = 0; taken < COUNT - left; taken += 1) waiting.shift();
    expect(heapBytes() - before).toBeLessThan(COUNT);
    expect(waiting.size).toBe(left);
  });

  test('are visited at the end of delays only if one of them is delayed, and never those that are due', () => {
    const waiting = new WaitingMessages();
    let visits = 0;
    const watched = (message: WaitingMessage): WaitingMessage =>
      Object.defineProperty(message, 'sends', {
        get: () => {
          visits += 1;
          return 1;
        },
      });
    const retried = watched(messageAt(1, 500));
    waiting.putBack(retried);
    waiting.append(watched(messageAt(2)));
    waiting.endDelays(100);
    expect(visits).toBe(0);
    const delayed = messageAt(3, 200);
    waiting.append(delayed);
    waiting.endDelays(100);
    expect([visits, delayed.dueMs, retried.dueMs]).toEqual([1, 100, 500]);
    waiting.endDelays(100);
    expect(visits).toBe(1);
  });
});
