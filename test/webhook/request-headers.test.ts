import { describe, expect, test } from 'vitest';
import {
  DEFAULT_USER_AGENT,
  requestHeaders,
  SIGNATURE_HEADER,
} from '../../src/webhook/request-headers.ts';

const fails = (path: readonly string[], detail: string) =>
  expect.objectContaining({
    code: 'ERR_INVALID_OPTION',
    path,
    message: expect.stringContaining(`: ${detail}.`),
  });

const TOKEN = 'the name of a header must be a token';
const latin1 = (name: string) => `expected the header ${name} to be one line of Latin-1 text`;

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

  test.each([
    ['Content-Type', 'is part of the contract and cannot be changed'],
    ['CONTENT-LENGTH', 'is part of the contract and cannot be changed'],
    ['Transfer-Encoding', 'belongs to the connection'],
  ])('reject the header %s: it %s', (name, reason) => {
    expect(() => requestHeaders({ headers: { 'x-a': '1', [name]: 'x' } })).toThrow(
      fails(['headers', name], `the header ${name} ${reason}`),
    );
  });

  test.each([
    ['is given in two cases', { 'X-A': '1', 'x-a': '2' }, 'x-a', 'the header x-a is given twice'],
    ['has a line break', { 'x-a': 'b\r\nx-c: d' }, 'x-a', latin1('x-a')],
    ['has a delete', { 'x-a': '\u007f' }, 'x-a', latin1('x-a')],
    ['is beyond Latin-1', { 'x-a': 'secret \u0100' }, 'x-a', latin1('x-a')],
    ['is undefined', { 'x-a': undefined }, 'x-a', latin1('x-a')],
    ['has no name', { '': 'b' }, '', TOKEN],
    ['has a name that ends in a line feed', { 'x\n': 'b' }, 'x\n', TOKEN],
  ])('reject a header that %s', (_what, headers, name, detail) => {
    const read = () => requestHeaders({ headers: headers as Record<string, string> });
    expect(read).toThrow(fails(['headers', name], detail));
    // The value may be a credential.
    expect(read).not.toThrow(/secret/);
  });

  test.each([[''], ['a\r\nb: c'], ['\u{1F600}']])('reject the user agent %j', (userAgent) => {
    expect(() => requestHeaders({ userAgent })).toThrow(
      fails(['userAgent'], 'expected userAgent to be the text of a header'),
    );
  });

  test('reject a user agent given twice', () => {
    expect(() => requestHeaders({ userAgent: 'a', headers: { 'USER-AGENT': 'b' } })).toThrow(
      fails(['headers', 'user-agent'], 'the header is given twice, as userAgent too'),
    );
  });
});
