import { expect, test } from 'vitest';
import { REDACTED } from '../../../src/capture/redaction/redactor.ts';
import {
  type CaptureOptions,
  readCaptureOptions,
} from '../../../src/capture/request/capture-options.ts';

test('each option takes effect', () => {
  const enrichment = { factsOf: () => ({}), stats: async () => [] };
  const settings = readCaptureOptions({
    trustedProxies: 'loopback',
    addressHeader: 'X-Real-IP',
    enrichment,
    redaction: { sensitiveKeys: ['color'] },
    parameters: { maxStringLength: 3 },
    blockedStatus: 400,
  });
  expect(settings).toMatchObject({
    addressPolicy: { addressHeader: 'x-real-ip' },
    blockedStatus: 400,
  });
  expect(settings.addressPolicy.isTrusted('127.0.0.1', 0)).toBe(true);
  expect(settings.enrichment).toBe(enrichment);
  expect(settings.copyParameters?.({ json: { color: 'red', password: 'x1234' } })).toEqual({
    json: { color: REDACTED, password: 'x12[truncated: 2 characters]' },
  });
});

test.each<[unknown, readonly string[]]>([
  [null, []],
  [{ trustProxies: 1 }, ['trustProxies']],
  [{ trustedProxies: '0.0.0.0/0' }, ['trustedProxies']],
  [{ addressHeader: 'a b' }, ['addressHeader']],
  [{ enrichment: 'maxmind' }, ['enrichment']],
  [{ enrichment: null }, ['enrichment']],
  [{ redaction: { sensitiveKeys: 7 } }, ['redaction', 'sensitiveKeys']],
  [{ parameters: true }, ['parameters']],
  [{ parameters: null }, ['parameters']],
  [{ parameters: 7 }, ['parameters']],
  [{ parameters: { maxDepth: 0 } }, ['parameters', 'maxDepth']],
  [{ parameters: { maxDepth: 65 } }, ['parameters', 'maxDepth']],
  [{ parameters: { maxKeys: 0 } }, ['parameters', 'maxKeys']],
  [{ parameters: { maxStringLength: '1' } }, ['parameters', 'maxStringLength']],
  [{ parameters: { maxBytes: 1023 } }, ['parameters', 'maxBytes']],
  [{ parameters: { maxBytes: 1_048_577 } }, ['parameters', 'maxBytes']],
  [{ blockedStatus: 399 }, ['blockedStatus']],
  [{ blockedStatus: 600 }, ['blockedStatus']],
  [{ blockedStatus: '403' }, ['blockedStatus']],
])('%j is refused with the path of the option', (options, path) => {
  expect(() => readCaptureOptions(options as CaptureOptions)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }),
  );
});

test('an unknown limit of parameters is named', () => {
  const options = { parameters: { depth: 1 } } as CaptureOptions;
  expect(() => readCaptureOptions(options)).toThrow('unknown key "depth" in parameters');
});

test.each([400, 599])('blockedStatus may be %d', (blockedStatus) => {
  expect(readCaptureOptions({ blockedStatus }).blockedStatus).toBe(blockedStatus);
});
