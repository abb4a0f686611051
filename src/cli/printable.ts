/**
 * Text of others, safe to print: what moves the cursor, changes colours, hides or turns around what
 * follows becomes visible escapes. A received payload could otherwise rewrite what a terminal shows.
 */
// Controls but tab, formats but the joiners that scripts and emoji are written with, line ends of
// Unicode, lone surrogates.
const UNPRINTABLE = /(?![\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** One line, whatever the text holds. */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
