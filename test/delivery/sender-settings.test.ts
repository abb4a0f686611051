import { describe, expect, test } from 'vitest';
import { ENGINE_SHOP, startEngine } from '../helpers/fake-engine.ts';
import { withReplacedPromise } from '../helpers/promises.ts';
import {
  applicationsOf,
  batches,
  ids,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  rejection,
  SECRET,
} from '../helpers/sender.ts';

describe('settings', () => {
  test('are awaited if the global Promise is not that of async functions', async () => {
    const receiver = await openReceiver();
    const shop = { name: 'shop', environment: 'test', url: receiver.url, secret: SECRET };
    const given = messages(3);
    const accepted = await withReplacedPromise(async () => {
      const sender = openSender({ settings: async (id) => (id === 'shop-1' ? shop : undefined) });
      const report = await sender.send(given);
      const unknown = await rejection(sender.send([message('m-3', 'shop-2')]));
      expect(unknown).toMatchObject({ code: 'ERR_UNKNOWN_APPLICATION' });
      await sender.flush();
      return report.accepted;
    });
    expect(accepted).toHaveLength(3);
    expect(batches(receiver)).toEqual([ids(3)]);
  });

  test('with an address that is refused hold back that destination alone, and say so (D82)', async () => {
    const receiver = await openReceiver();
    const published = listen();
    const settings = applicationsOf({
      metadata: { url: 'http://169.254.169.254/latest' },
      works: receiver,
    });
    const sender = openSender({ settings, network: 'allow-private' });
    await sender.send([message('m-0', 'metadata'), message('m-1', 'works')]);
    const stop = new AbortController();
    const flushing = sender.flush({ signal: stop.signal });
    await Promise.all([published.until('destination-missing'), published.until('attempt-settled')]);
    stop.abort();
    const flushed = await flushing;
    expect(flushed).toMatchObject({ delivered: 1, pending: 1 });
    expect(flushed.failures).toEqual([{ applicationId: 'metadata', because: 'refused' }]);
    expect(published.of('destination-missing')).toMatchObject([
      { applicationId: 'metadata', because: 'refused' },
    ]);
    const { returned, failures } = await sender.close({ deadlineMs: 0 });
    expect(returned).toMatchObject([{ message_id: 'm-0', sends: 0 }]);
    expect(failures).toEqual(flushed.failures);
  });

  test.each([
    [{ url: 'ftp://one.example/' }, 'http or https URL'],
    [{ secret: '' }, 'settings.applications.shop-1.secret'],
    [{ secret: () => '' }, 'The webhook secret is not usable'],
    [{ tls: { ca: 'ca.pem' } }, 'settings.applications.shop-1.tls.ca'],
  ])(
    'that a function returns and that are not usable (%j) are named by close',
    async (bad, named) => {
      const published = listen();
      const good = {
        name: 'shop',
        environment: 'test',
        url: 'http://127.0.0.1:1/',
        secret: SECRET,
      };
      let isAccepted = false;
      const settings = () => ({ ...good, ...(isAccepted ? bad : {}) });
      const sender = openSender({ settings, lingerMs: 1 });
      await sender.send(messages(1));
      isAccepted = true;
      await published.until('destination-missing');
      const { failures } = await sender.close({ deadlineMs: 0 });
      expect(failures).toEqual([
        { applicationId: 'shop-1', because: 'unusable', detail: expect.stringContaining(named) },
      ]);
    },
  );
});

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
  expect(poster.posts.map((post) => post.messages.map((one) => one['message_id']))).toEqual([
    ['m-2'],
  ]);
  expect(await sender.stats()).toMatchObject({ pending: 0, delivered: 1, dead: 1 });
});
