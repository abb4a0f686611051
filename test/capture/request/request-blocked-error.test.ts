import { describe, expect, test } from 'vitest';
import {
  blockRequest,
  isRequestBlocked,
  RequestBlockedError,
} from '../../../src/capture/request/request-blocked-error.ts';
import { RequestScope, runInScope } from '../../../src/capture/request/request-scope.ts';

const BRAND = Symbol.for('security-event-delivery.request-blocked');

function scopeOf(blockedStatus = 403): RequestScope {
  const http = { request: {}, response: { blocked: false } };
  return new RequestScope(() => ({ http }), { blockedStatus });
}

const caught = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('the error of a blocked request', () => {
  test.each<[string, () => RequestBlockedError, number]>([
    ['403 outside of requests', () => new RequestBlockedError(), 403],
    ['as given', () => new RequestBlockedError(451), 451],
    ['its adapter’s', () => runInScope(scopeOf(429), () => new RequestBlockedError()), 429],
    [
      'given, not its adapter’s',
      () => runInScope(scopeOf(429), () => new RequestBlockedError(400)),
      400,
    ],
    ['403 for a success', () => new RequestBlockedError(200), 403],
    ['403 for a status that Node refuses', () => new RequestBlockedError(1000), 403],
    ['403 for a fraction', () => new RequestBlockedError(403.5), 403],
    [
      '429, its adapter’s, for 600',
      () => runInScope(scopeOf(429), () => new RequestBlockedError(600)),
      429,
    ],
    ['403 for 399', () => new RequestBlockedError(399), 403],
    ['599, the highest', () => new RequestBlockedError(599), 599],
  ])('has the status %s, under both names', (_which, make, status) => {
    const error = make();
    expect([error.status, error.statusCode]).toEqual([status, status]);
  });

  test('has the properties that frameworks read, and hides its message', () => {
    const error = new RequestBlockedError();
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'RequestBlockedError',
      message: 'The request was blocked.',
      expose: false,
    });
  });

  test('returns the response that Hono sends', async () => {
    const response = new RequestBlockedError(451).getResponse();
    expect(response.status).toBe(451);
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'text/plain; charset=utf-8',
    });
    expect(await response.text()).toBe('Unavailable For Legal Reasons');
  });

  test.each([
    [403, 'Forbidden'],
    [499, 'Blocked'],
  ])('has for status %d the body %j', async (status, words) => {
    expect(await new RequestBlockedError(status).getResponse().text()).toBe(words);
  });

  test.each([
    ['one of ours', new RequestBlockedError(), true],
    ['one of another copy', Object.assign(new Error('x'), { [BRAND]: true }), true],
    ['another error', new Error('The request was blocked.'), false],
    ['one whose brand is not true', { [BRAND]: 1 }, false],
    ['null', null, false],
    ['text', 'RequestBlockedError', false],
  ])('is recognised or not: %s', (_which, error, expected) => {
    expect(isRequestBlocked(error)).toBe(expected);
  });
});

describe('blocking', () => {
  test('works without a report and without a request', () => {
    expect(caught(() => blockRequest())).toMatchObject({ status: 403 });
  });

  test('throws the error of its report', () => {
    const boom = new Error('of the report');
    const report = (): never => {
      throw boom;
    };
    expect(caught(() => blockRequest(report))).toBe(boom);
  });
});
