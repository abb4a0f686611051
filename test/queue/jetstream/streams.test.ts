/** What the streams promise, and how they are made, without a server. */
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { readStreamsOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { namesOf } from '../../../src/queue/jetstream/names.ts';
import { createStreams, durabilityOf } from '../../../src/queue/jetstream/streams.ts';

const SERVERS = { servers: '127.0.0.1:4222' };

describe('durability', () => {
  test.each([
    { replicas: [3, 3, 5], storage: 'file', version: '2.10.27', expected: 'replicated' },
    { replicas: [3, 3, 3], storage: 'file', version: '3.0.0-beta.1', expected: 'replicated' },
    { replicas: [3, 1, 3], storage: 'file', version: '2.10.27', expected: 'process-crash' },
    { replicas: [2, 2, 2], storage: 'file', version: '2.15.1', expected: 'process-crash' },
    { replicas: [3, 3, 3], storage: 'memory', version: '2.15.1', expected: 'memory' },
    { replicas: [3, 3, 3], storage: 'file', version: '2.11.0', expected: 'replicated' },
    // Nobody has tried it.
    { replicas: [3, 3, 3], storage: 'file', version: '2.10.26', expected: 'process-crash' },
    // Their replicas are not the same.
    { replicas: [3, 3, 3], storage: 'file', version: '2.9.10', expected: 'process-crash' },
    { replicas: [3, 3, 3], storage: 'file', version: undefined, expected: 'process-crash' },
  ] as const)('of streams of $replicas in $storage on a server $version is $expected', (row) => {
    const infos = row.replicas.map((replicas, index) => ({
      config: {
        name: `${index}`,
        subjects: [],
        storage: index === 1 ? row.storage : ('file' as const),
        num_replicas: replicas,
      },
    }));
    expect(durabilityOf(infos, row.version)).toBe(row.expected);
  });
});

const refusedFor = async (refusals: number): Promise<unknown> => {
  let asked = 0;
  let ms = 0;
  const streams = {
    info: () => Promise.reject(new Refusal(10059, 'stream not found')),
    add: () => {
      asked += 1;
      return asked > refusals
        ? Promise.resolve()
        : Promise.reject(new Refusal(10005, 'no suitable peers for placement'));
    },
    purge: () => Promise.resolve(),
  };
  const clock = {
    monotonicMs: () => ms,
    sleep: (waitMs: number) => {
      ms += waitMs;
      return Promise.resolve();
    },
  };
  const options = { ...readStreamsOptions({ connection: SERVERS, callTimeoutMs: 5000 }), clock };
  return await createStreams({ streams } as never, namesOf('p'), options);
};

describe('streams of a cluster whose servers have not all found each other', () => {
  test('are made once these have', async () => {
    expect(await refusedFor(40)).toBe('created');
  });

  test('are given up in the time of a call, and it is said for what', async () => {
    await expect(refusedFor(60)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('have not found each other yet'),
    });
  });
});
