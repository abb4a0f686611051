/**
 * Ids as SQLite stores them. Its texts cannot hold half a surrogate pair and end at U+0000, which ids
 * may have: they are stored as they stand between the quotes of a JSON string.
 */
const PLAIN = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

export const toText = (id: string): string =>
  PLAIN.test(id) ? id : JSON.stringify(id).slice(1, -1);

export const fromText = (text: string): string =>
  PLAIN.test(text) ? text : (JSON.parse(`"${text}"`) as string);
