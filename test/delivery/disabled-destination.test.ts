import { expect, test } from 'vitest';
import { ENGINE_SHOP, startEngine } from '../helpers/fake-engine.ts';
import { message } from '../helpers/sender.ts';

test('a disabled destination keeps messages until their horizon, and gets the others once it is enabled', async () => {
  let enabled = false;
  const { sender, clock, poster, published } = startEngine({
    destination: { settings: () => ({ ...ENGINE_SHOP, enabled }) },
    options: { schedule: { delaysMs: [1000], repeatLast: true, horizonMs: 600_000 } },
  });
  await sender.send([message('m-1')]);
  await clock.advance(600_000);
  await sender.send([message('m-2')]);
  const failures = [{ applicationId: 'shop-1', because: 'disabled' }];
  const flushed = await clock.runUntilSettled(sender.flush({ deadlineMs: 0 }));
  expect(flushed).toMatchObject({ pending: 2, failures });
  // A minute after the horizon, in the next round of maintenance.
  await clock.advance(150_000);
  expect(poster.posts).toEqual([]);
  expect(await sender.stats()).toMatchObject({ pending: 1, dead: 1 });
  expect(published).toContainEqual([
    'dead',
    { applicationId: 'shop-1', message_id: 'm-1', reason: 'horizon-passed' },
  ]);
  enabled = true;
  await clock.advance(300_000);
  expect(poster.posts.map(({ messages }) => messages.map((one) => one['message_id']))).toEqual([
    ['m-2'],
  ]);
  expect(await sender.stats()).toMatchObject({ pending: 0, delivered: 1, dead: 1 });
});
