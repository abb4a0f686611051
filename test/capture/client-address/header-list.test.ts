import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  elementFromRight,
  elementsFromRight,
  MAX_ELEMENT_CHARS,
  MAX_HOPS,
  TOO_LONG,
  TOO_MANY,
  unquotedComma,
} from '../../../src/capture/client-address/header-list.ts';

const list = (count: number): string => Array(count).fill('a').join(',');

describe('elementsFromRight', () => {
  test.each([
    ['', []],
    [' \t ', []],
    [',, ,', []],
    ['a', ['a']],
    ['a,b', ['b', 'a']],
    [' a b ,\tc\t, ', ['c', 'a b']],
    ['a,,b,', ['b', 'a']],
    // Neither a no-break space nor a line feed is a blank of HTTP.
    ['\u00a0a,b\n', ['b\n', '\u00a0a']],
    ['"a,b"', ['b"', '"a']],
  ])('reads %j as %j', (value, expected) => {
    expect([...elementsFromRight(value)]).toEqual(expected);
  });

  test.each([
    ['"a,b",c', ['c', '"a,b"']],
    ['"a\\",b",c', ['c', '"a\\",b"']],
    ['"a\\\\","b"', ['"b"', '"a\\\\"']],
    ['b,"a\\"', ['"a\\"', 'b']],
    ['a,\\\\"b,c"', ['\\\\"b,c"', 'a']],
    ['a,"b', ['a,"b']],
    ['""', ['""']],
    ['\\"a,b', ['b', '\\"a']],
    // A quote that the client left open changes nothing to its right.
    ['for="6.6.6.6, for="[2001:db8::1]", for=b', ['for=b', 'for="[2001:db8::1]"', 'for="6.6.6.6']],
  ])('outside of quotes reads %j as %j', (value, expected) => {
    expect([...elementsFromRight(value, unquotedComma)]).toEqual(expected);
  });

  test('reads as many elements as a request may have hops, and says that there are more', () => {
    expect([...elementsFromRight(list(MAX_HOPS))]).toEqual(Array(MAX_HOPS).fill('a'));
    expect([...elementsFromRight(list(MAX_HOPS + 1))]).toEqual([
      ...Array(MAX_HOPS).fill('a'),
      TOO_MANY,
    ]);
    expect([...elementsFromRight(','.repeat(100_000))]).toEqual([TOO_MANY]);
  });

  test.each([undefined, unquotedComma])('reads no element that is too long (%o)', (findComma) => {
    const longest = 'a'.repeat(MAX_ELEMENT_CHARS);
    expect([...elementsFromRight(`${longest},b`, findComma)]).toEqual(['b', longest]);
    expect([...elementsFromRight(`c,${longest},b`, findComma)]).toEqual(['b', TOO_LONG]);
    expect([...elementsFromRight(`${longest}a,b`, findComma)]).toEqual(['b', TOO_LONG]);
    expect([...elementsFromRight('a'.repeat(65_536), findComma)]).toEqual([TOO_LONG]);
  });

  test('does not depend on what stands to the left', () => {
    const wellFormed = fc.constantFrom('for=a', 'for="b"', 'for="c,\\"d"', 'by="\\\\";for=e');
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', ',', 'a', ' ') }),
        fc.array(wellFormed, { minLength: 1, maxLength: 5 }),
        (left, right) => {
          const read = [...elementsFromRight(`${left},${right.join(', ')}`, unquotedComma)];
          expect(read.slice(0, right.length)).toEqual(right.toReversed());
        },
      ),
    );
  });
});

describe('elementFromRight', () => {
  test.each([
    ['a, b, c', 0, 'c'],
    ['a, b, c', 1, 'b'],
    ['a, b, c', 2, 'a'],
    ['a, b, c', 3, 'a'],
    ['a,,', 0, 'a'],
    ['', 0, undefined],
    ['x'.repeat(2000), 0, undefined],
    [`${'x'.repeat(2000)},a`, 1, 'a'],
  ])('of %j the place %i holds %j', (value, place, expected) => {
    expect(elementFromRight(value, place)).toBe(expected);
  });
});
