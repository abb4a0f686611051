import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sharedBytes } from '../../src/webhook/encoder.ts';
import { anyCharacter } from '../helpers/any-character.ts';

test.each([1, 100])('each text of %i becomes its exact bytes, whatever the others are', (count) => {
  const unit = fc.oneof(anyCharacter, fc.constant('\ud800'));
  const anyTexts = fc.array(fc.string({ unit, maxLength: 60 }), { maxLength: 60 });
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

test('many small texts share few Buffers, and a large text has its own', () => {
  const toBytes = sharedBytes(1000);
  const memory = new Set(Array.from({ length: 1000 }, () => toBytes('x'.repeat(700)).buffer));
  expect(memory.size).toBeLessThan(14);
  expect(memory.has(toBytes('x'.repeat(20_000)).buffer)).toBe(false);
});
