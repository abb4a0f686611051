/** Results for programs: one JSON value a line, which is safe to look at in a terminal, too. */

/** What JSON leaves as it is and a terminal obeys, or hides: C1, direction marks, zero width. */
const OBEYED =
  /[\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/g;

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Such characters stand within strings only, where an escape means the same. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replaceAll(OBEYED, escaped)}\n`;
