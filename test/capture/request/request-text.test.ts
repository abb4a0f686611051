import { describe, expect, it, test } from 'vitest';
import { createRedactor, REDACTED } from '../../../src/capture/redaction/redactor.ts';
import { pathOf, queryTextOf, userAgentOf } from '../../../src/capture/request/request-text.ts';

const redactor = createRedactor();

describe('the path', () => {
  test.each([
    ['/a/b', '/a/b'],
    ['/a?b=c', '/a'],
    ['/a#b?c', '/a'],
    ['?a', '/'],
    ['', ''],
    [undefined, ''],
    ['*', '*'],
    ['//evil.example/a', '//evil.example/a'],
    ['/%2e%2e/?', '/%2e%2e/'],
    ['http://shop.example:8080/a/b?c', '/a/b'],
    ['HTTPS://shop.example?c', '/'],
    ['/go/http://shop.example/a', '/go/http://shop.example/a'],
    ['/a\r\nb\ud83d', '/a␍␊b\ufffd'],
  ])('of %j is %j', (target, expected) => {
    expect(pathOf(target, redactor)).toBe(expected);
  });

  it('has at most 2048 code units', () => {
    expect(pathOf(`/${'a'.repeat(2047)}`, redactor)).toHaveLength(2048);
    expect(pathOf(`/${'a'.repeat(2048)}`, redactor)).toBe(`/${'a'.repeat(2047)}`);
    expect(pathOf(`/${'a'.repeat(2046)}😀`, redactor)).toBe(`/${'a'.repeat(2046)}`);
  });

  it('is redacted if there is a redactor', () => {
    const token = `eyJ${'a'.repeat(20)}.${'b'.repeat(3000)}.c`;
    expect(pathOf('/a;jsessionid=1f?x', redactor)).toBe(`/a;jsessionid=${REDACTED}`);
    expect(pathOf(`/reset/${token}`, redactor)).toBe(`/reset/${REDACTED}`);
    const early = `/${'a'.repeat(2030)}/eyJ${'a'.repeat(500)}.b.c${'/d'.repeat(600)}`;
    expect(pathOf(early, redactor)).toBe(`/${'a'.repeat(2030)}/${REDACTED}/d/d/d`);
  });

  test.each([
    ['/reset/sesame', ['sesame'], '/reset/[redacted]'],
    ['/reset/sesame/sesame?sesame', ['sesame'], '/reset/[redacted]/[redacted]'],
    ['/reset/s%65same', ['sesame'], '/reset/[redacted]'],
    ['/reset/%ff', ['%ff'], '/reset/[redacted]'],
    ['/reset/%ff', ['sesame'], '/reset/%ff'],
    ['/reset/for-sesame.html', ['sesame'], '/reset/[redacted]'],
    ['/a/b/c', ['b', 'c'], '/a/[redacted]/[redacted]'],
  ])('of %j without %j is %j', (target, secrets, expected) => {
    expect(pathOf(target, redactor, secrets)).toBe(expected);
  });

  it('has no half of a secret that the cut splits', () => {
    const secret = 's'.repeat(5000);
    const path = `/${'a'.repeat(2000)}/${secret}`;
    expect(pathOf(path, redactor, [secret])).toBe(`/${'a'.repeat(2000)}/${REDACTED}`);
  });

  it('is redacted as a whole if there are too many secrets', () => {
    const secrets = Array.from({ length: 17 }, (_, index) => `s${index}e`);
    const path = `/a/${secrets.join('/')}`;
    expect(pathOf(path, redactor, secrets)).toBe(`/${REDACTED}`);
    expect(pathOf(path, redactor, secrets.slice(1))).toBe(`/a/s0e${'/[redacted]'.repeat(16)}`);
  });
});

test.each([
  ['/a', ''],
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
  expect(userAgentOf(header, redactor)).toBe(expected);
});

test('a user agent is redacted', () => {
  expect(userAgentOf('x/1 Bearer abcdefghijklmnop', redactor)).toBe(`x/1 Bearer ${REDACTED}`);
});
