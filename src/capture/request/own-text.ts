/** Text that may be kept longer than its request. */

/**
 * A copy that stands alone. What is cut out of a longer text may keep all of it in memory (V8 does so
 * from 13 characters on): an address the header it came in, a name the body.
 */
export const ownText = (text: string): string =>
  // Not UTF-8, which has no lone surrogates.
  Buffer.from(text, 'utf16le').toString('utf16le');
