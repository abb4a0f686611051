/** Arbitrary texts. (fast-check's own `binary` strings take a second to set up.) */
import fc from 'fast-check';

const isSurrogate = (point: number): boolean => point >= 0xd8_00 && point <= 0xdf_ff;

/** Any UTF-16, lone surrogates too. */
export const anyText = fc
  .array(fc.nat({ max: 0xff_ff }))
  .map((units) => String.fromCharCode(...units));

/** Any text that UTF-8 can say. */
export const wellFormedText = fc
  .array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0xff_ff }), fc.nat({ max: 0x10_ff_ff })))
  .map((points) => String.fromCodePoint(...points.filter((point) => !isSurrogate(point))));
