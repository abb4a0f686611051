import { describe, expect, test } from 'vitest';
import type { IncomingRequest } from '../../src/testing/index.ts';
import { createSteps } from '../../src/testing/script.ts';
import { headersOf, type Step } from '../../src/testing/step.ts';

const REQUEST = { index: 3 } as IncomingRequest;
const RESET = { fault: 'reset-on-connect' } as const;
const HANG = { fault: 'hang' } as const;

describe('a list of steps', () => {
  test('has one step for each request, then the default', () => {
    const steps = createSteps([{ status: 503 }, HANG], { status: 204 });
    expect([1, 2, 3, 4].map(() => steps.ofHeaders())).toEqual([
      { status: 503 },
      HANG,
      { status: 204 },
      { status: 204 },
    ]);
  });

  test('ends with 200 by default', () => {
    expect(createSteps().ofHeaders()).toEqual({ status: 200 });
  });

  test('gives a connection the next step only if it is a connection fault', () => {
    const steps = createSteps([HANG, RESET, { status: 503 }]);
    expect(steps.ofConnection()).toBeUndefined();
    expect(steps.ofHeaders()).toEqual(HANG);
    expect(steps.ofConnection()).toEqual(RESET);
    expect(steps.ofConnection()).toBeUndefined();
    expect(steps.ofHeaders()).toEqual({ status: 503 });
    expect(steps.ofConnection()).toBeUndefined();
  });

  test('gives every connection the default if it is a connection fault', () => {
    const steps = createSteps([HANG], RESET);
    expect(steps.ofConnection()).toBeUndefined();
    steps.ofHeaders();
    expect([1, 2].map(() => steps.ofConnection())).toEqual([RESET, RESET]);
  });
});

describe('a function', () => {
  test('chooses the step of a request that was read, or the default', () => {
    const steps = createSteps(({ index }) => (index === 3 ? HANG : undefined), { status: 204 });
    expect(steps.ofHeaders()).toBeUndefined();
    expect(steps.ofConnection()).toBeUndefined();
    expect(steps.ofRequest(REQUEST)).toEqual(HANG);
    expect(steps.ofRequest({ ...REQUEST, index: 4 })).toEqual({ status: 204 });
  });

  test('leaves connections to the default', () => {
    expect(createSteps(() => HANG, RESET).ofConnection()).toEqual(RESET);
  });

  test('must return a valid step', () => {
    const steps = createSteps(() => ({ status: 99 }));
    expect(() => steps.ofRequest(REQUEST)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['script'] }),
    );
  });
});

describe('refuses an invalid step:', () => {
  test.each<[string, unknown]>([
    ['an unknown fault', { fault: 'explode' }],
    ['an unknown fault', { fault: 'toString' }],
    ['status: expected 200 to 599', { status: 199 }],
    ['status: expected 200 to 599', { status: 600 }],
    ['status: expected 200 to 599', { status: 200.5 }],
    ['status: expected 200 to 599', { fault: 'drip', status: 101 }],
    ['expected a fault or a status', {}],
    ['expected an object', 503],
    ['expected an object', null],
    ['delayMs: expected 0 to 2147483647', { status: 200, delayMs: Number.POSITIVE_INFINITY }],
    ['delayMs: expected 0 to 2147483647', { fault: 'slow-tls', delayMs: 2 ** 31 }],
    ['everyMs: expected 0 to 2147483647', { fault: 'drip', everyMs: -1 }],
    ['afterMs: expected 0 to 2147483647', { fault: 'close-idle', afterMs: Number.NaN }],
    ['afterBytes: expected 0 to 9007199254740991', { fault: 'reset-during-body', afterBytes: '1' }],
    ['maxBytes: expected 0 to 9007199254740991', { fault: 'body-limit', maxBytes: -1 }],
    ['inflatedBytes: expected 0 to 9007199254740991', { fault: 'gzip-bomb', inflatedBytes: -1 }],
    ['body: expected text or bytes', { status: 200, body: { ok: true } }],
    ['a header that cannot be sent', { status: 200, headers: { 'x-a': 'a\nb' } }],
    ['a header that cannot be sent', { status: 200, headers: { 'x a': 'b' } }],
    ['a header that cannot be sent', { status: 503, retryAfter: '1\r\n' }],
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

  test.each<Step>([
    { status: 200 },
    { status: 599 },
    { status: 200, delayMs: 2 ** 31 - 1, body: new Uint8Array(1) },
    { status: 200, delayMs: 0, body: '' },
    { fault: 'reset-during-body', afterBytes: 0 },
  ])('but not %j', (step) => {
    expect(createSteps([step]).ofHeaders()).toEqual(step);
  });
});

test.each([
  ['seconds', 120, '120'],
  ['zero seconds', 0, '0'],
  ['a time', new Date(Date.UTC(2026, 10, 21, 10, 0, 5)), 'Sat, 21 Nov 2026 10:00:05 GMT'],
  ['any text', 'soon', 'soon'],
])('Retry-After may be %s', (_, retryAfter, value) => {
  expect(headersOf({ status: 503, headers: { 'x-a': '1' }, retryAfter })).toEqual({
    'x-a': '1',
    'retry-after': value,
  });
});

test('omits Retry-After by default', () => {
  expect(headersOf({ status: 503 })).toEqual({});
});
