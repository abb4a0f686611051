import { expect, test } from 'vitest';
import { REDACTED } from '../../../src/capture/redaction/redactor.ts';
import {
  type CaptureOptions,
  readCaptureOptions,
} from '../../../src/capture/request/capture-options.ts';

test('without options all defaults hold', () => {
  const settings = readCaptureOptions();
  expect(settings).toMatchObject({
    addresses: { addressHeader: 'x-forwarded-for' },
    enrichment: undefined,
    blockedStatus: 403,
  });
  expect(settings.addresses.isTrusted('127.0.0.1', 0)).toBe(false);
  expect(settings.redactor.isSensitiveKey('password')).toBe(true);
  expect(settings.copyParameters?.({ query: 'a=1' })).toEqual({ query: { a: '1' } });
});

test('an option that is undefined is as one left out', () => {
  const names = ['trustedProxies', 'addressHeader', 'enrichment', 'redaction', 'parameters'];
  const options = Object.fromEntries([...names, 'blockedStatus'].map((name) => [name, undefined]));
  expect(readCaptureOptions(options)).toMatchObject({ blockedStatus: 403 });
  expect(readCaptureOptions(options).copyParameters).toBeTypeOf('function');
});

test('each option reaches what it is about', () => {
  const enrichment = { factsOf: () => ({}), stats: () => [] };
  const settings = readCaptureOptions({
    trustedProxies: 'loopback',
    addressHeader: 'X-Real-IP',
    enrichment,
    redaction: { sensitiveKeys: ['color'] },
    parameters: { dialect: 'open' },
    blockedStatus: 400,
  });
  expect(settings).toMatchObject({
    addresses: { addressHeader: 'x-real-ip' },
    blockedStatus: 400,
  });
  expect(settings.addresses.isTrusted('127.0.0.1', 0)).toBe(true);
  expect(settings.enrichment).toBe(enrichment);
  expect(settings.copyParameters?.({ json: [{ color: 'red', password: 'x' }] })).toEqual({
    json: [{ color: REDACTED, password: 'x' }],
  });
});

test('no parameters are copied where none are wanted', () => {
  expect(readCaptureOptions({ parameters: false }).copyParameters).toBeUndefined();
});

test.each<[unknown, readonly string[]]>([
  [null, []],
  [[], []],
  ['loopback', []],
  [{ trustProxies: 1 }, ['trustProxies']],
  [{ trustedProxies: '0.0.0.0/0' }, ['trustedProxies']],
  [{ addressHeader: 'a b' }, ['addressHeader']],
  [{ enrichment: 'maxmind' }, ['enrichment']],
  [{ enrichment: null }, ['enrichment']],
  [{ redaction: { sensitiveKeys: 7 } }, ['redaction', 'sensitiveKeys']],
  [{ parameters: true }, ['parameters']],
  [{ parameters: null }, ['parameters']],
  [{ parameters: { maxKeys: 0 } }, ['parameters', 'maxKeys']],
  [{ blockedStatus: 399 }, ['blockedStatus']],
  [{ blockedStatus: 600 }, ['blockedStatus']],
  [{ blockedStatus: '403' }, ['blockedStatus']],
])('%j is refused, and what is at fault is named', (options, path) => {
  expect(() => readCaptureOptions(options as CaptureOptions)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }),
  );
});

test.each([400, 599])('a blocked request may be answered with %d', (blockedStatus) => {
  expect(readCaptureOptions({ blockedStatus }).blockedStatus).toBe(blockedStatus);
});
