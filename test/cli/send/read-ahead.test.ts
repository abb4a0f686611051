import { expect, it } from 'vitest';
import type { InputItem } from '../../../src/cli/send/message-input.ts';
import { ReadAhead } from '../../../src/cli/send/read-ahead.ts';

const message = (line: number, bytes = 1): InputItem => ({
  kind: 'message',
  line,
  message: {},
  bytes,
});
const fault = (line: number): InputItem => ({ kind: 'fault', line, path: [], text: 'a fault' });

async function* itemsOf(items: readonly InputItem[]): AsyncGenerator<InputItem> {
  yield* items;
}

const { signal } = new AbortController();
const BOUNDS = { maxMessages: 3, maxBytes: 100 };

const linesOf = (found: readonly { readonly line: number }[]): number[] =>
  found.map(({ line }) => line);

it('reads as many messages as its bound says, and the next ones once those are taken', async () => {
  const input = new ReadAhead(itemsOf([1, 2, 3, 4].map((line) => message(line))), BOUNDS);
  expect(await input.fill(signal)).toEqual([]);
  expect([input.waiting, input.lastLine, input.isOver]).toEqual([3, 3, false]);
  expect(linesOf(input.take(2))).toEqual([1, 2]);
  expect(input.next?.line).toBe(3);
  await input.fill(signal);
  expect([input.waiting, input.lastLine, input.isOver]).toEqual([2, 4, true]);
  expect(linesOf(input.take(5))).toEqual([3, 4]);
  expect(input.take(5)).toEqual([]);
});

it('reads as many bytes as its bound says, and one message more', async () => {
  const items = [1, 2, 3].map((line) => message(line, 60));
  const input = new ReadAhead(itemsOf(items), BOUNDS);
  await input.fill(signal);
  expect(input.waiting).toBe(2);
  input.take(1);
  await input.fill(signal);
  expect(input.waiting).toBe(2);
});

it('gives a hundred faults at a time', async () => {
  const items = Array.from({ length: 150 }, (_, index) => fault(index + 1));
  const input = new ReadAhead(itemsOf(items), BOUNDS);
  expect(linesOf(await input.fill(signal))).toEqual(linesOf(items.slice(0, 100)));
  expect(await input.fill(signal)).toHaveLength(50);
});

it('rejects with the reason of a signal that is aborted already', async () => {
  const input = new ReadAhead(itemsOf([message(1)]), BOUNDS);
  await expect(input.fill(AbortSignal.abort(new Error('ended')))).rejects.toThrow('ended');
});

it('closes an input that is not read to its end', async () => {
  let isClosed = false;
  async function* items(): AsyncGenerator<InputItem> {
    try {
      for (let line = 1; ; line += 1) yield message(line);
    } finally {
      isClosed = true;
    }
  }
  const input = new ReadAhead(items(), BOUNDS);
  await input.fill(signal);
  input.close();
  await Promise.resolve();
  expect(isClosed).toBe(true);
});
