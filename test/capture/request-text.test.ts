import { describe, expect, it, test } from 'vitest';
import { createRedactor, REDACTED } from '../../src/capture/redaction.ts';
import {
  pathOf,
  portOf,
  queryTextOf,
  splitHost,
  userAgentOf,
} from '../../src/capture/request-text.ts';

describe('the path', () => {
  test.each([
    ['/a/b', '/a/b'],
    ['/a?b=c', '/a'],
    ['/a#b?c', '/a'],
    ['/?a', '/'],
    ['?a', '/'],
    ['', ''],
    [undefined, ''],
    ['*', '*'],
    ['//evil.example/a', '//evil.example/a'],
    ['/%2e%2e/?', '/%2e%2e/'],
    ['http://shop.example:8080/a/b?c', '/a/b'],
    ['HTTPS://shop.example?c', '/'],
    ['http://shop.example', '/'],
    ['/go/http://shop.example/a', '/go/http://shop.example/a'],
    ['/a\r\nb\ud83d', '/a␍␊b\ufffd'],
  ])('of %j is %j', (target, expected) => {
    expect(pathOf(target)).toBe(expected);
  });

  it('has at most 2048 code units', () => {
    expect(pathOf(`/${'a'.repeat(2047)}`)).toHaveLength(2048);
    expect(pathOf(`/${'a'.repeat(2048)}`)).toBe(`/${'a'.repeat(2047)}`);
    expect(pathOf(`/${'a'.repeat(2046)}😀`)).toBe(`/${'a'.repeat(2046)}`);
  });

  it('has its secrets masked where a redactor is given', () => {
    const token = `eyJ${'a'.repeat(20)}.${'b'.repeat(3000)}.c`;
    expect(pathOf('/a;jsessionid=1f?x', createRedactor())).toBe(`/a;jsessionid=${REDACTED}`);
    expect(pathOf(`/reset/${token}`, createRedactor())).toBe(`/reset/${REDACTED}`);
    const early = `/${'a'.repeat(2030)}/eyJ${'a'.repeat(500)}.b.c${'/d'.repeat(600)}`;
    expect(pathOf(early, createRedactor())).toBe(`/${'a'.repeat(2030)}/${REDACTED}/d/d/d`);
  });
});

test.each([
  ['/a', ''],
  ['/a?', ''],
  ['/a?b=c&d', 'b=c&d'],
  ['/a?b?c', 'b?c'],
  ['/a?b#c', 'b'],
  ['/a#b?c', ''],
  [undefined, ''],
])('the query of %j is %j', (target, expected) => {
  expect(queryTextOf(target)).toBe(expected);
});

test.each([
  [undefined, ''],
  ['curl/8', 'curl/8'],
  ['a\u0000', 'a␀'],
  ['u'.repeat(513), 'u'.repeat(512)],
])('the user agent %j is %j', (header, expected) => {
  expect(userAgentOf(header)).toBe(expected);
});

test('secrets in a user agent are masked where a redactor is given', () => {
  expect(userAgentOf('x token=abc', createRedactor())).toBe(`x token=${REDACTED}`);
});

describe('the host header', () => {
  test.each([
    ['shop.example', 'shop.example', undefined],
    ['shop.example:8080', 'shop.example', 8080],
    [' Shop.Example:1 ', 'Shop.Example', 1],
    ['shop.example:65535', 'shop.example', 65_535],
    ['shop.example:', 'shop.example', undefined],
    ['192.0.2.1:80', '192.0.2.1', 80],
    ['[2001:db8::1]', '2001:db8::1', undefined],
    ['[2001:db8::1]:8443', '2001:db8::1', 8443],
    ['[::1]:', '::1', undefined],
    ['2001:db8::1', '2001:db8::1', undefined],
    ['::1', '::1', undefined],
    [':80', '', 80],
    ['', '', undefined],
    [undefined, '', undefined],
    ['shop.example:0', 'shop.example:0', undefined],
    ['shop.example:65536', 'shop.example:65536', undefined],
    ['shop.example:8a', 'shop.example:8a', undefined],
    ['[::1]:x', '[::1]:x', undefined],
    ['[::1]80', '[::1]80', undefined],
    ['[nonsense]:80', '[nonsense]:80', undefined],
    ['[]', '[]', undefined],
    ['a\nb:80', 'a␊b', 80],
    ['a'.repeat(300), 'a'.repeat(255), undefined],
  ])('%j is the host %j and the port %j', (header, host, port) => {
    expect(splitHost(header)).toEqual({ host, port });
  });

  test.each([
    ['a:8080', 'http', 3000, 8080],
    ['a', 'http', 3000, 80],
    ['a', 'https', 3000, 443],
    ['a', 'ftp', undefined, 80],
    ['', 'https', 3000, 3000],
    ['', 'https', undefined, 443],
    ['', 'http', undefined, 80],
  ])('%j over %s, listening at %j, is for port %d', (header, scheme, localPort, expected) => {
    expect(portOf(splitHost(header), scheme, localPort)).toBe(expected);
  });
});
