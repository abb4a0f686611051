import { expect, test } from 'vitest';
import {
  applicationsOf,
  batches,
  GENEROUS_TIMEOUT,
  listen,
  message,
  openReceiver,
  openSender,
} from '../helpers/sender.ts';

const NEVER = { schedule: { delaysMs: [600_000] } } as const;

test('TLS is verified with the credentials of each destination', async () => {
  const published = listen();
  const own = await openReceiver({ tls: 'self-signed' });
  const other = await openReceiver({ tls: 'self-signed' });
  const { applications } = applicationsOf({ own, other });
  const withTls = Object.entries(applications).map(
    ([id, application]) => [id, { ...application, tls: { ca: own.certificate } }] as const,
  );
  const sender = openSender({
    ...NEVER,
    settings: { applications: Object.fromEntries(withTls) },
  });
  await sender.send([message('m-0', 'own'), message('m-1', 'other')]);
  await published.until('attempt-settled', 2);
  expect(batches(own)).toEqual([['m-0']]);
  expect(batches(other)).toEqual([]);
  const [failed] = published.of('attempt-settled').filter(({ failure }) => failure !== undefined);
  expect(failed).toMatchObject({ applicationId: 'other', failure: 'tls' });
  expect((await sender.stats()).pending).toBe(1);
});

test('a response whose body hangs holds an active slot no longer than one that is late (D75)', async () => {
  const published = listen();
  const hanging = await openReceiver({ otherwise: { fault: 'hang-after-headers' } });
  const healthy = await openReceiver();
  const sender = openSender({
    settings: applicationsOf({ hanging, healthy }),
    maxActiveRequests: 1,
    lateAfterMs: 500,
  });
  await sender.send([message('m-0', 'hanging')]);
  await hanging.waitForRequests(1, GENEROUS_TIMEOUT);
  await sender.send([message('m-1', 'healthy')]);
  await healthy.waitForRequests(1, GENEROUS_TIMEOUT);
  const settled = published.of('attempt-settled').map(({ applicationId }) => applicationId);
  expect(settled).not.toContain('hanging');
  expect((await sender.stats()).inFlight.waiting).toBe(1);
});
