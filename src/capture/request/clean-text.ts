/** Text from a request as a record may hold it: without control characters and lone surrogates, cut, and alone. */

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

/**
 * A copy that stands alone. What is cut out of a longer text may keep all of it in memory (V8 does so
 * from 13 characters on): an address the header it came in, a name the body.
 */
export const ownText = (text: string): string =>
  // Not UTF-8, which has no lone surrogates.
  Buffer.from(text, 'utf16le').toString('utf16le');
