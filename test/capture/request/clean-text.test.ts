import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createEnrichment,
  createRequestCapture,
  type HttpRequest,
} from '../../../src/capture/index.ts';
import { cleanText, cutText, ownText } from '../../../src/capture/request/clean-text.ts';
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

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const LONG = 100_000;
const TEXTS = 300;

const longText = (): string => Buffer.alloc(LONG, 'x').toString();

/** What stays in memory of requests that each brought a long text, once they are over. */
function keptOf(request: (index: number) => Partial<HttpRequest>): number {
  const enrichment = createEnrichment({ enrichers: [async () => ({ tor: true })] });
  const capture = createRequestCapture({ trustedProxies: 'loopback', enrichment });
  const socket = { remoteAddress: '127.0.0.1' };
  const serve = (index: number): void => {
    capture.contextOf({ headers: {}, socket, ...request(index) });
  };
  serve(-1);
  const before = heapBytes();
  for (let index = 0; index < TEXTS; index += 1) serve(index);
  const kept = heapBytes() - before;
  // Kept texts must still be reachable when the heap is measured.
  serve(-1);
  return kept;
}

describe('text that is kept of requests', () => {
  test.each<[string, (index: number) => Partial<HttpRequest>]>([
    [
      'a name of a parameter, the text that it stood in',
      (index) => ({ body: `{"member_of_a_long_text_${index}":1,${longText()}` }),
    ],
    [
      'an address, the header that it stood in',
      (index) => ({
        headers: { 'x-forwarded-for': `${longText()}, 198.51.${100 + (index % 100)}.100` },
      }),
    ],
  ])('does not keep the text that it was cut from: %s', (_what, request) => {
    expect(keptOf(request)).toBeLessThan((TEXTS * LONG) / 8);
  });
});

test.each(['', '😀', '\ud800 alone'])('the own copy of %j is the same text', (text) => {
  expect(ownText(text)).toBe(text);
});
