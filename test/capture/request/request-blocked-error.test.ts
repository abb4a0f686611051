import { describe, expect, test } from 'vitest';
import {
  blockRequest,
  isRequestBlocked,
  RequestBlockedError,
} from '../../../src/capture/request/request-blocked-error.ts';
import { RequestScope, runInScope } from '../../../src/capture/request/request-scope.ts';

const BRAND = Symbol.for('security-event-delivery.request-blocked');

function scopeOf(blockedStatus: number): RequestScope {
  const http = { request: {}, response: { blocked: false } };
  return new RequestScope(() => ({ http }), { blockedStatus });
}

describe('the error of a blocked request', () => {
  test.each<[string, number | undefined, number | undefined, number]>([
    ['403 outside of requests', undefined, undefined, 403],
    ['as given', undefined, 451, 451],
    ['its adapter’s', 429, undefined, 429],
    ['given, not its adapter’s', 429, 400, 400],
    ['403 for a success', undefined, 200, 403],
    ['403 for a status that Node refuses', undefined, 1000, 403],
    ['403 for a fraction', undefined, 403.5, 403],
    ['429, its adapter’s, for 600', 429, 600, 429],
    ['403 for 399', undefined, 399, 403],
    ['599, the highest', undefined, 599, 599],
  ])('has the status %s, under both names', (_which, ofAdapter, given, status) => {
    const make = (): RequestBlockedError => new RequestBlockedError(given);
    const error = ofAdapter === undefined ? make() : runInScope(scopeOf(ofAdapter), make);
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

  test.each([
    [403, 'Forbidden'],
    [451, 'Unavailable For Legal Reasons'],
    [499, 'Blocked'],
  ])('returns the response that Hono sends for status %d: %s', async (status, body) => {
    const response = new RequestBlockedError(status).getResponse();
    expect([response.status, await response.text()]).toEqual([status, body]);
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'text/plain; charset=utf-8',
    });
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
    expect(() => blockRequest()).toThrow(expect.objectContaining({ status: 403 }));
  });

  test('throws the error of its report', () => {
    const boom = new Error('of the report');
    const report = (): never => {
      throw boom;
    };
    expect(() => blockRequest(report)).toThrow(boom);
  });
});
