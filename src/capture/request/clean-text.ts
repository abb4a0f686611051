/** Text from a request as it may stand in a record: no control characters, no lone surrogates, cut. */

const UNFIT = /[\p{Cc}\p{Cs}]/gu;
const CONTROL_PICTURES = 0x2400;
const FIRST_PRINTABLE = 0x20;
const DELETE = '\u007f';

/**
 * C0 controls and DEL become their pictures (`␀`, `␊`, `␡`: one still sees which it was), the other
 * controls and lone surrogates U+FFFD. The length stays the same.
 */
export const cleanText = (text: string): string => text.replace(UNFIT, fitFor);

function fitFor(unfit: string): string {
  if (unfit === DELETE) return '\u2421';
  const code = unfit.charCodeAt(0);
  return code < FIRST_PRINTABLE ? String.fromCharCode(CONTROL_PICTURES + code) : '\ufffd';
}

const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** The first `length` UTF-16 code units; one fewer where that would halve a surrogate pair. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, length).replace(HIGH_SURROGATE, '');
}
