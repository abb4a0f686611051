/** Arbitrary texts. (fast-check's own `binary` strings take a second to set up.) */
import fc from 'fast-check';

const isSurrogate = (point: number): boolean => point >= 0xd8_00 && point <= 0xdf_ff;

const points = (minLength: number): fc.Arbitrary<number[]> =>
  fc.array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0xff_ff }), fc.nat({ max: 0x10_ff_ff })), {
    minLength,
  });

const utf16 = (minLength: number): fc.Arbitrary<string> =>
  points(minLength).map((all) => String.fromCodePoint(...all));

/** Any UTF-16, lone surrogates too. */
export const anyText = utf16(0);

/** As `anyText`, too long to be taken for a short text. */
export const anyLongText = utf16(40);

/** Any text that UTF-8 can say. */
export const wellFormedText = points(0).map((all) =>
  String.fromCodePoint(...all.filter((point) => !isSurrogate(point))),
);
