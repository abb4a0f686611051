import { expect, test } from 'vitest';
import { startEngineOn } from '../helpers/fake-engine.ts';
import { messages } from '../helpers/sender.ts';

test('a failing settlement is repeated with rising delays, to the end of the lease', async () => {
  const claimIds: string[] = [];
  const calledAt: number[] = [];
  const { sender, clock, published } = startEngineOn(
    (_, time) => ({
      settle: ({ id }) => {
        claimIds.push(id);
        if (id === claimIds[0]) calledAt.push(time.monotonicMs());
        return Promise.reject(Object.assign(new Error('no server'), { code: 'ECONNREFUSED' }));
      },
    }),
    { options: { leaseMs: 56_600 } },
  );
  await sender.send(messages(1));
  await clock.advance(56_600);
  const [first = 0] = calledAt;
  expect(calledAt.map((atMs) => atMs - first)).toEqual([
    0,
    100,
    600,
    2600,
    ...Array.from({ length: 18 }, (_, index) => 5600 + index * 3000),
  ]);
  const failures = published.flatMap(([name, event]) => (name === 'queue-failed' ? [event] : []));
  expect(failures.map(({ retryInMs }) => retryInMs)).toEqual([
    100,
    500,
    2000,
    ...Array(18).fill(3000),
    // The messages are claimed and sent again, and their next settlement fails too. Then the first one is given up.
    100,
    undefined,
  ]);
  expect(failures[0]).toMatchObject({ operation: 'settle', errorCode: 'ECONNREFUSED' });
  await clock.advance(20_000);
  expect(calledAt).toHaveLength(22);
});
