import { expect, onTestFinished, test, vi } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { messageReader } from '../../src/webhook/read-messages.ts';
import { startEngine } from '../helpers/fake-engine.ts';

test.each([
  ['both', 1],
  ['enqueue', 1],
  ['deliver', 0],
] as const)(
  'a sender with the role %s builds the schemas when it is created: %i times',
  (role, times) => {
    const parse = vi.spyOn(messageReader('strict'), 'safeParse');
    onTestFinished(() => parse.mockRestore());
    startEngine({ options: { role, queue: createMemoryQueue() } });
    expect(parse).toHaveBeenCalledTimes(times);
  },
);
