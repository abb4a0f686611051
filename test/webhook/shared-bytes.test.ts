import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sharedBytes } from '../../src/webhook/encoder.ts';
import { anyCharacter } from '../helpers/any-character.ts';

test.each([1, 100])('each text of %i becomes its exact bytes, whatever the others are', (count) => {
  const anyTexts = fc.array(fc.string({ unit: anyCharacter, maxLength: 60 }), { maxLength: 60 });
  fc.assert(
    fc.property(anyTexts, fc.nat({ max: 4 }), (texts, repeats) => {
      const toBytes = sharedBytes(count);
      const long = texts.map((text) => text.repeat(10 ** repeats).slice(0, 20_000));
      const bytes = long.map(toBytes);
      expect(bytes.map((one, index) => one.equals(Buffer.from(long[index] ?? '')))).toEqual(
        texts.map(() => true),
      );
    }),
  );
});

test('a lone surrogate is encoded as by Buffer.from, even at the end of a chunk', () => {
  const toBytes = sharedBytes(1000);
  for (let at = 0; at < 1000; at += 1) {
    const text = `${'é'.repeat(at % 97)}\ud800`;
    expect(toBytes(text).equals(Buffer.from(text))).toBe(true);
  }
});

test('many small texts share few Buffers, and a large text has its own', () => {
  const toBytes = sharedBytes(1000);
  const memory = new Set(Array.from({ length: 1000 }, () => toBytes('x'.repeat(700)).buffer));
  expect(memory.size).toBeLessThan(14);
  expect(memory.has(toBytes('x'.repeat(20_000)).buffer)).toBe(false);
});
