import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 } as const;
const CODE_POINTS = 0x11_0000 - SURROGATES.count;

const characterAt = (index: number): string =>
  String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count);

function indexOf(character: unknown): number {
  const codePoint = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1;
  const index = codePoint < SURROGATES.first ? codePoint : codePoint - SURROGATES.count;
  if (index < 0 || characterAt(index) !== character) throw new Error('not one character');
  return index;
}

/**
 * Generates every Unicode character with equal probability, for `fc.string({ unit })`. fast-check's own
 * `'binary'` does the same, but first builds a table of all characters, which takes seconds and 100 MB.
 */
export const anyCharacter = fc.nat({ max: CODE_POINTS - 1 }).map(characterAt, indexOf);
