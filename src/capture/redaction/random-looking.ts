/** Whether a value is one that a program has drawn: a code, a nonce, a session, an opaque token. */

/** What tokens are made of (RFC 6749 A, base64url, base64); injections need other characters. */
const TOKEN = /^[A-Za-z0-9._~+/=:%-]{16,4096}$/;

/**
 * Paths, URLs and names of files; numbers in hexadecimal, which SQL injections consist of; and the
 * beginnings of serialised objects (Java, .NET, Python, PHP) and gzip: they are evidence of an attack.
 */
const NO_TOKEN =
  /^(?:\/|0x|rO0AB|AAEAAAD|gASV|Tzo|YTo|H4sI)|\.\.|\/\/|%(?:2[267e]|3[ce]|0[0ad])|\.[a-z]{2,5}$/i;

const PIECE = /[A-Za-z0-9]{6,}/g;
const CHANGE = /[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])/g;

/** A slug such as `summer-sale-2026` or `iphone-15-256gb` has no longer piece of mixed characters. */
const isMixed = (piece: string): boolean => (piece.match(CHANGE)?.length ?? 0) >= 2;

export function looksRandom(text: string): boolean {
  if (!TOKEN.test(text) || NO_TOKEN.test(text)) return false;
  return text.match(PIECE)?.some(isMixed) ?? false;
}
