import { describe, expect, it, test } from 'vitest';
import { createRedactor, REDACTED } from '../../../src/capture/redaction/redactor.ts';
import { pathOf, queryTextOf, userAgentOf } from '../../../src/capture/request/request-text.ts';

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

  test.each([
    ['/reset/sesame', ['sesame'], '/reset/[redacted]'],
    ['/reset/sesame/sesame?sesame', ['sesame'], '/reset/[redacted]/[redacted]'],
    ['/reset/s%65same', ['sesame'], '/reset/[redacted]'],
    ['/reset/%ff', ['%ff'], '/reset/[redacted]'],
    ['/reset/%ff', ['sesame'], '/reset/%ff'],
    ['/reset/for-sesame.html', ['sesame'], '/reset/[redacted]'],
    ['/a/b/c', ['b', 'c'], '/a/[redacted]/[redacted]'],
    ['/reset/other', ['sesame'], '/reset/other'],
    ['/', ['sesame'], '/'],
  ])('of %j without %j is %j', (target, secrets, expected) => {
    expect(pathOf(target, undefined, secrets)).toBe(expected);
  });

  it('has no secret that the cut would halve', () => {
    const secret = 's'.repeat(5000);
    const path = `/${'a'.repeat(2000)}/${secret}`;
    expect(pathOf(path, undefined, [secret])).toBe(`/${'a'.repeat(2000)}/${REDACTED}`);
  });

  it('is not shown where it has more secrets than are looked for', () => {
    const secrets = Array.from({ length: 17 }, (_, index) => `s${index}e`);
    const path = `/a/${secrets.join('/')}`;
    expect(pathOf(path, undefined, secrets)).toBe(`/${REDACTED}`);
    expect(pathOf(path, undefined, secrets.slice(1))).toBe(`/a/s0e${'/[redacted]'.repeat(16)}`);
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
