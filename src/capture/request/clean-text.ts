/** Makes text of a request fit for a record: replaces control characters and lone surrogates, and cuts. */

const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu;
const CONTROL_PICTURES = 0x2400;
const FIRST_PRINTABLE = 0x20;
const DELETE = '\u007f';

/**
 * Replaces C0 controls and DEL by their pictures (`␀`, `␊`, `␡`), and other controls and lone surrogates by
 * U+FFFD. The length stays the same.
 */
export const cleanText = (text: string): string => text.replace(UNPRINTABLE, replacementFor);

function replacementFor(unit: string): string {
  if (unit === DELETE) return '\u2421';
  const code = unit.charCodeAt(0);
  return code < FIRST_PRINTABLE ? String.fromCharCode(CONTROL_PICTURES + code) : '\ufffd';
}

const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** Returns the first `length` UTF-16 code units; one fewer if that would split a surrogate pair. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, length).replace(HIGH_SURROGATE, '');
}

/**
 * Returns a copy with its own memory. In V8 a slice of 13 or more characters keeps the whole text in
 * memory: a short name would keep the whole body.
 */
export const ownText = (text: string): string =>
  // UTF-8 would lose lone surrogates.
  Buffer.from(text, 'utf16le').toString('utf16le');
