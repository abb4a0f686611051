import { expect, test } from 'vitest';
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
    options: { maxActiveRequests: 1, patienceMs: 2000 },
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
