import { expect, onTestFinished, test } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import { createFakeClock, createSeededRandom } from '../../src/testing/index.ts';
import { ENGINE_SECRET, ENGINE_URL, startEngine } from '../helpers/fake-engine.ts';
import { message } from '../helpers/sender.ts';

test('settings that are not answered hold up no other destination for longer than its patience (D75)', async () => {
  const shop = { name: 'shop', environment: 'test', url: ENGINE_URL, secret: ENGINE_SECRET };
  let asked = 0;
  const { sender, clock, told } = startEngine({
    where: {
      settings: (id: string) => {
        if (id === 'hanging') asked += 1;
        return asked > 1 && id === 'hanging' ? new Promise<never>(() => {}) : shop;
      },
    },
    options: { maxActiveRequests: 1, lateAfterMs: 2000 },
  });
  await sender.send([message('m-0', 'hanging')]);
  await clock.advance(0);
  await sender.send([message('m-1', 'healthy')]);
  expect((await sender.stats()).inFlight).toEqual({ active: 1, waiting: 0 });
  await clock.advance(1999);
  expect(told.filter(([name]) => name === 'attempt-started')).toEqual([]);
  await clock.advance(1);
  expect(told.filter(([name]) => name === 'attempt-settled')).toMatchObject([
    ['attempt-settled', { applicationId: 'healthy', outcome: 'delivered' }],
  ]);
  expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 1 });
});

// The first has its settings in time, and waits for its response.
test('a request whose settings came late counts as active again', async () => {
  const clock = createFakeClock();
  const shop = { name: 'shop', environment: 'test', url: ENGINE_URL, secret: ENGINE_SECRET };
  const answers: (() => void)[] = [];
  let isLate = false;
  let posts = 0;
  const settings = async () => {
    if (isLate) await new Promise<void>((resolve) => answers.push(resolve));
    return shop;
  };
  const sender = makeSender(
    { settings, maxActiveRequests: 2, maxWaitingRequests: 8, lateAfterMs: 50 },
    {
      clock,
      random: createSeededRandom(1),
      newId: () => 'sender',
      createPoster: () => ({
        post: async () => {
          posts += 1;
          await clock.sleep(500);
          return {
            kind: 'response',
            status: 200,
            retryAfter: undefined,
            timings: { totalMs: 500 },
          };
        },
        close: async () => {},
      }),
      maxOpenFiles: Number.POSITIVE_INFINITY,
    },
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
  });
  await sender.send(['a', 'b', 'c', 'd', 'e'].map((id) => message(id, id)));
  isLate = true;
  await clock.advance(200);
  expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 5 });
  for (const answer of answers.splice(0)) answer();
  await clock.advance(1);
  expect(posts).toBe(5);
  expect((await sender.stats()).inFlight).toEqual({ active: 4, waiting: 1 });
  await clock.advance(60);
  expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 5 });
});
