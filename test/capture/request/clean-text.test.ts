import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanText, cutText } from '../../../src/capture/request/clean-text.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

test.each([
  ['plain text, ümläut, 密码, 😀', 'plain text, ümläut, 密码, 😀'],
  ['a\r\nb\tc', 'a␍␊b␉c'],
  ['\u0000\u001f\u0020', '␀␟ '],
  ['\u007e\u007f\u0080\u009f\u00a0', '~␡\ufffd\ufffd\u00a0'],
  ['a\ud83db', 'a\ufffdb'],
  ['\ude00\ud83d', '\ufffd\ufffd'],
  ['\u001b[31mred', '␛[31mred'],
])('%j is cleaned to %j', (text, expected) => {
  expect(cleanText(text)).toBe(expected);
});

test('cleaning leaves no control character and no lone surrogate, and keeps the length', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter }),
      fc.integer({ min: 0, max: 0xffff }),
      (text, unit) => {
        const clean = cleanText(text + String.fromCharCode(unit));
        expect(clean).not.toMatch(/[\p{Cc}\p{Cs}]/u);
        expect(clean).toHaveLength(text.length + 1);
      },
    ),
  );
});

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀', 3, 'ab'],
  ['😀', 1, ''],
  ['abc', 0, ''],
])('%j cut to %d is %j', (text, length, expected) => {
  expect(cutText(text, length)).toBe(expected);
});
