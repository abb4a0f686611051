import { expect, test } from 'vitest';
import { closestName, suggestion } from '../src/closest-name.ts';

const NAMES = ['network', 'secret', 'secret-file', 'trustedProxies', 'isLogin', 'flush', 'url'];

test.each([
  ['netwrok', 'network'],
  ['secrte', 'secret'],
  ['secrt-file', 'secret-file'],
  ['secretfile', 'secret-file'],
  ['trustedProxys', 'trustedProxies'],
  ['isLogn', 'isLogin'],
  ['flsh', 'flush'],
  ['entwork', 'network'],
  ['ntwork', 'network'],
  ['Flush', 'flush'],
  ['flows', undefined],
  ['attack', undefined],
  ['', undefined],
  ['urgent', undefined],
  ['x'.repeat(100_000), undefined],
])('for %s it suggests %s', (given, expected) => {
  expect(closestName(given, NAMES)).toBe(expected);
});

test('suggests nothing if nothing is known', () => {
  expect(closestName('url', [])).toBeUndefined();
});

test('suggestion ends an error about an unknown name', () => {
  expect(suggestion('netwrok', NAMES)).toBe('; did you mean "network"?');
  expect(suggestion('attack', NAMES)).toBe('');
});
