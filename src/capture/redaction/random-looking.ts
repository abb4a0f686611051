/** Recognises values that a program has generated: codes, nonces, sessions, opaque tokens. */

/** Characters of tokens (RFC 6749 appendix A, base64url, base64); injections need others. */
const TOKEN = /^[A-Za-z0-9._~+/=:%-]{16,4096}$/;

/**
 * Evidence of an attack, or harmless: paths, URLs and file names; hexadecimal numbers, as in SQL
 * injections; the first bytes of serialised objects (Java, .NET, Python, PHP) and gzip.
 */
const NO_TOKEN =
  /^(?:\/|0x|rO0AB|AAEAAAD|gASV|Tzo|YTo|H4sI)|\.\.|\/\/|%(?:2[267e]|3[ce]|0[0ad])|\.[a-z]{2,5}$/i;

const PIECE = /[A-Za-z0-9]{6,}/g;
const CHANGE = /[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])/g;

/** False for the pieces of a slug, such as `summer-sale-2026` or `iphone-15-256gb`. */
const isMixed = (piece: string): boolean => (piece.match(CHANGE)?.length ?? 0) >= 2;

export function looksRandom(text: string): boolean {
  if (!TOKEN.test(text) || NO_TOKEN.test(text)) return false;
  return text.match(PIECE)?.some(isMixed) ?? false;
}
