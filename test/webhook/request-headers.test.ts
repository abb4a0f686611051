import { describe, expect, test } from 'vitest';
import {
  DEFAULT_USER_AGENT,
  requestHeaders,
  SIGNATURE_HEADER,
} from '../../src/webhook/request-headers.ts';

const fails = (path: readonly string[]) =>
  expect.objectContaining({ code: 'ERR_INVALID_OPTION', path });

describe('requestHeaders', () => {
  test('are the content type and the user agent by default', () => {
    expect(requestHeaders({})).toEqual({
      'Content-Type': 'application/json',
      'User-Agent': DEFAULT_USER_AGENT,
    });
    expect(SIGNATURE_HEADER).toBe('X-Svc-Integrity');
  });

  test.each([
    ['userAgent', { userAgent: 'shop/2 (+https://shop.example)' }],
    ['a header', { headers: { 'User-Agent': 'shop/2 (+https://shop.example)' } }],
  ])('use a user agent given as %s', (_how, options) => {
    expect(requestHeaders(options)).toEqual({
      'Content-Type': 'application/json',
      'User-Agent': 'shop/2 (+https://shop.example)',
    });
  });

  test('contain one user agent in any spelling', () => {
    expect(requestHeaders({ headers: { 'user-agent': 'shop' } })).toEqual({
      'Content-Type': 'application/json',
      'user-agent': 'shop',
    });
  });

  test('contain the given headers in their spelling', () => {
    const headers = {
      Authorization: 'Bearer t',
      'x-empty': '',
      'X-Tab': 'a\tb',
      'x-latin': 'caf\u00e9\u00ff',
      "!#$%&'*+.^_`|~9": '~',
    };
    expect(requestHeaders({ headers, userAgent: 'u' })).toEqual({
      'Content-Type': 'application/json',
      'User-Agent': 'u',
      ...headers,
    });
  });

  test.each(['Content-Type', 'CONTENT-LENGTH', 'Transfer-Encoding'])(
    'reject the header %s, which the caller must not set',
    (name) => {
      expect(() => requestHeaders({ headers: { 'x-a': '1', [name]: 'x' } })).toThrow(
        fails(['headers', name]),
      );
    },
  );

  test.each([
    ['is given in two cases', { 'X-A': '1', 'x-a': '2' }, 'x-a'],
    ['has a line break', { 'x-a': 'b\r\nx-c: d' }, 'x-a'],
    ['has a delete', { 'x-a': '\u007f' }, 'x-a'],
    ['is beyond Latin-1', { 'x-a': 'secret \u0100' }, 'x-a'],
    ['is undefined', { 'x-a': undefined }, 'x-a'],
    ['has no name', { '': 'b' }, ''],
    ['has a name that ends in a line feed', { 'x\n': 'b' }, 'x\n'],
  ])('reject a header that %s', (_what, headers, name) => {
    const read = () => requestHeaders({ headers: headers as Record<string, string> });
    expect(read).toThrow(fails(['headers', name]));
    // The value may be a credential.
    expect(read).not.toThrow(/secret/);
  });

  test.each([[''], ['a\r\nb: c'], ['\u{1F600}']])('reject the user agent %j', (userAgent) => {
    expect(() => requestHeaders({ userAgent })).toThrow(fails(['userAgent']));
  });

  test('reject a user agent given twice', () => {
    expect(() => requestHeaders({ userAgent: 'a', headers: { 'USER-AGENT': 'b' } })).toThrow(
      fails(['headers', 'user-agent']),
    );
  });
});
