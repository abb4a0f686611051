import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { IncomingRequest } from '../../src/testing/index.ts';
import { createSteps } from '../../src/testing/script.ts';
import { headersOf, type Step } from '../../src/testing/step.ts';

const REQUEST = { index: 3 } as IncomingRequest;
const RESET = { fault: 'reset-on-connect' } as const;
const HANG = { fault: 'hang' } as const;

describe('a list of steps', () => {
  test('gives every connection the default if it is a connection fault', () => {
    const steps = createSteps([HANG], RESET);
    expect(steps.forConnection()).toBeUndefined();
    steps.forHeaders();
    expect([1, 2].map(() => steps.forConnection())).toEqual([RESET, RESET]);
  });
});

describe('a function', () => {
  test('leaves connections to the default', () => {
    expect(createSteps(() => HANG, RESET).forConnection()).toEqual(RESET);
  });

  test('must return a valid step', () => {
    const steps = createSteps(() => ({ status: 99 }));
    expect(() => steps.forRequest(REQUEST)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['script'] }),
    );
  });
});

describe('refuses an invalid step:', () => {
  test.each<[string, unknown]>([
    ['fault: expected one of reset-on-connect, ', { fault: 'explode' }],
    ['fault: expected one of reset-on-connect, ', { fault: 'toString' }],
    ['status: expected 200 to 599', { status: 199 }],
    ['status: expected 200 to 599', { status: 600 }],
    ['status: expected 200 to 599', { fault: 'drip', status: 200.5 }],
    ['expected a fault or a status', {}],
    ['unknown key "retryafter"', { status: 503, retryafter: 7 }],
    ['unknown key "everyms"', { fault: 'drip', everyms: 1 }],
    ['maxBytes: expected a number', { fault: 'body-limit' }],
    ['expected an object', 503],
    ['expected an object', null],
    ['delayMs: expected 0 to 2147483647', { status: 200, delayMs: Number.POSITIVE_INFINITY }],
    ['delayMs: expected 0 to 2147483647', { fault: 'slow-tls', delayMs: 2 ** 31 }],
    ['afterBytes: expected 0 to 9007199254740991', { fault: 'reset-during-body', afterBytes: '1' }],
    ['inflatedBytes: expected 0 to 68719476736', { fault: 'gzip-bomb', inflatedBytes: -1 }],
    ['inflatedBytes: expected 0 to 68719476736', { fault: 'gzip-bomb', inflatedBytes: 2 ** 37 }],
    ['body: expected text or bytes', { status: 200, body: { ok: true } }],
    ['headers: expected valid names and values', { status: 200, headers: { 'x-a': 'a\nb' } }],
    ['headers: expected valid names and values', { status: 200, headers: { 'x a': 'b' } }],
    ['headers: expected valid names and values', { status: 503, retryAfter: '1\r\n' }],
  ])('%s, of %j', (detail, step) => {
    const fault = (path: unknown[]) =>
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path,
        message: expect.stringContaining(detail),
      });
    const bad = step as Step;
    expect(() => createSteps([{ status: 200 }, bad])).toThrow(fault(['script', 1]));
    expect(() => createSteps([], bad)).toThrow(fault(['otherwise']));
  });

  test('or a script that is neither a list nor a function', () => {
    expect(() => createSteps({ status: 200 } as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: ['script'],
        message: expect.stringContaining('expected a list of steps or a function') as string,
      }),
    );
  });

  test.each<Step>([
    { status: 200 },
    { status: 599 },
    { status: 200, delayMs: 2 ** 31 - 1, body: new Uint8Array(1) },
    { status: 200, delayMs: 0, body: '' },
    { fault: 'reset-during-body', afterBytes: 0 },
  ])('but not %j', (step) => {
    expect(createSteps([step]).forHeaders()).toEqual(step);
  });
});

test.each([
  ['zero seconds', 0, '0'],
  ['a time', new Date(Date.UTC(2026, 10, 21, 10, 0, 5)), 'Sat, 21 Nov 2026 10:00:05 GMT'],
  [
    'a time of a test sandbox',
    runInNewContext('new Date(Date.UTC(2026, 10, 21))') as Date,
    'Sat, 21 Nov 2026 00:00:00 GMT',
  ],
  ['any text', 'soon', 'soon'],
])('Retry-After may be %s', (_, retryAfter, value) => {
  expect(headersOf({ status: 503, headers: { 'x-a': '1' }, retryAfter })).toEqual({
    'x-a': '1',
    'retry-after': value,
  });
});
