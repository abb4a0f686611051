import { describe, expect, test } from 'vitest';
import { readForwardedElement } from '../../../src/capture/client-address/forwarded-for.ts';

describe('readForwardedElement', () => {
  test.each<[string, Record<string, string> | undefined]>([
    ['', {}],
    [';;', {}],
    ['for=192.0.2.43', { for: '192.0.2.43' }],
    ['FOR=a;Proto=HTTP', { for: 'a', proto: 'HTTP' }],
    ['for=a;', { for: 'a' }],
    ['for=a ; by=b \t', { for: 'a', by: 'b' }],
    ['for="[2001:db8::1]:80";host="a.example"', { for: '[2001:db8::1]:80', host: 'a.example' }],
    ['for=[2001:db8::1]:80', { for: '[2001:db8::1]:80' }],
    ['for="a\\"b\\\\c\\d"', { for: 'a"b\\cd' }],
    ['for="a;b, c"', { for: 'a;b, c' }],
    ['for=""', { for: '' }],
    ['x-ext!=a', { 'x-ext!': 'a' }],
    ['for=', undefined],
    ['for', undefined],
    ['=a', undefined],
    ['for =a', undefined],
    ['for= a', undefined],
    ['for=a b', undefined],
    ['for="a', undefined],
    ['for=a"', undefined],
    ['for="a"b', undefined],
    ['for="a\\"', undefined],
    ['for=a,b', undefined],
    ['for=a;for=b', undefined],
    ['for=a;For=a', undefined],
    ['__proto__=a', { ['__proto__']: 'a' }],
  ])('reads %j as %j', (element, expected) => {
    const parameters = readForwardedElement(element);
    expect(parameters && [...parameters]).toEqual(expected && Object.entries(expected));
  });

  test('reads a second element after a faulty one as if it were the first', () => {
    expect(readForwardedElement('for=a;"')).toBeUndefined();
    expect(readForwardedElement('for=b')?.get('for')).toBe('b');
  });
});
