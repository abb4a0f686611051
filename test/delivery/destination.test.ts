import { expect, test } from 'vitest';
import { Destinations, hashOfUrl } from '../../src/delivery/destination.ts';
import type { ResolvedApplication, SettingsReader } from '../../src/settings/source.ts';
import { createFakeClock } from '../../src/testing/fake-clock.ts';

const SHOP: ResolvedApplication = {
  name: 'shop',
  environment: 'production',
  url: 'https://receiver.example/hook?token=hunter2',
  secret: 'a secret',
  format: 2,
};

function destinations(
  find: SettingsReader['find'],
  { isSettingsFunction = false, clock = createFakeClock() } = {},
): Destinations {
  const { signal } = new AbortController();
  return new Destinations({ find, network: 'public', isSettingsFunction, clock, signal });
}

test('a URL is known by a hash that does not hold it', () => {
  const url = new URL(SHOP.url as string);
  expect(hashOfUrl(url)).toMatch(/^[0-9a-f]{64}$/);
  expect(hashOfUrl(url)).toBe(hashOfUrl(new URL(url.href)));
  expect(hashOfUrl(url)).not.toBe(hashOfUrl(new URL(`${url.href}x`)));
});

test('settings that are an object give the same destination, read once', () => {
  const known = destinations(() => SHOP);
  const first = known.resolve('shop-1');
  expect(first).toEqual({
    url: new URL(SHOP.url as string),
    secret: 'a secret',
    tls: undefined,
    application: SHOP,
    urlHash: hashOfUrl(new URL(SHOP.url as string)),
    isRefused: false,
  });
  expect(known.resolve('shop-1')).toBe(first);
});

test('settings of a function are not kept: they are usually new each time', () => {
  const asked = destinations(() => SHOP, { isSettingsFunction: true });
  expect(asked.resolve('shop-1')).not.toBe(asked.resolve('shop-1'));
});

test('a secret that is a function is asked for each time', async () => {
  let asks = 0;
  const secret = async (): Promise<string> => {
    asks += 1;
    return `secret ${asks}`;
  };
  const asked = destinations(() => ({ ...SHOP, secret }));
  expect(await asked.resolve('shop-1')).toMatchObject({ secret: 'secret 1' });
  expect(await asked.resolve('shop-1')).toMatchObject({ secret: 'secret 2' });
});

const DISABLED = { ...SHOP, enabled: false, secret: () => Promise.reject(new Error('x')) };

test.each<[string, ResolvedApplication | undefined, string]>([
  ['none', undefined, 'unknown'],
  ['no URL', { ...SHOP, url: undefined }, 'unknown'],
  ['no secret', { ...SHOP, secret: undefined }, 'unknown'],
  ['a URL of another scheme', { ...SHOP, url: 'ftp://receiver.example/' }, 'unusable'],
  ['an empty secret', { ...SHOP, secret: '' }, 'unusable'],
  ['a URL and a secret, but are disabled', { ...SHOP, enabled: false }, 'disabled'],
  ['a secret that is not asked for: they are disabled', DISABLED, 'disabled'],
  ['no secret when asked', { ...SHOP, secret: () => Promise.reject(new Error('x')) }, 'failed'],
])('there is no destination where the settings have %s', async (_what, application, why) => {
  const named: unknown = expect.stringMatching(/URL|secret/);
  const missing = { because: why, ...(why === 'unusable' ? { detail: named } : {}) };
  expect(await destinations(() => application).resolve('shop-1')).toEqual(missing);
  const later = destinations(() => Promise.resolve(application));
  expect(await later.resolve('shop-1')).toEqual(missing);
});

test('a private address is a destination that is refused', () => {
  const asked = destinations(() => ({ ...SHOP, url: 'http://10.0.0.1/' }));
  expect(asked.resolve('shop-1')).toMatchObject({ isRefused: true });
});

const never = new Promise<undefined>(() => {});

test('settings that fail, or do not answer within 10 s, give none', async () => {
  const failing = destinations(() => Promise.reject(new Error('x')));
  expect(await failing.resolve('shop-1')).toEqual({ because: 'failed' });
  const clock = createFakeClock();
  const asked = destinations(() => never, { clock });
  expect(await clock.runUntilSettled(Promise.resolve(asked.resolve('shop-1')), 10_000)).toEqual({
    because: 'failed',
  });
});
