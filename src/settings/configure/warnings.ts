/** What is allowed and likely to be regretted. */

/**
 * - `plain-http`: what is sent can be read on its way; the signature does not hide it.
 * - `short-secret`: fewer than 16 bytes can be guessed.
 * - `space-around-secret`: it counts, and is easily lost where a secret is copied.
 */
export type DestinationWarning = 'plain-http' | 'short-secret' | 'space-around-secret';

const MIN_SECRET_BYTES = 16;

interface Checked {
  /** Where it is about a secret alone: none. */
  readonly url: URL | undefined;
  readonly secret: string;
}

const WARNING_TABLE: Readonly<Record<DestinationWarning, (given: Checked) => boolean>> = {
  'plain-http': ({ url }) => url?.protocol === 'http:',
  'short-secret': ({ secret }) => Buffer.byteLength(secret) < MIN_SECRET_BYTES,
  'space-around-secret': ({ secret }) => secret.trim() !== secret,
};

export const warningsOf = (given: Checked): readonly DestinationWarning[] =>
  (Object.keys(WARNING_TABLE) as DestinationWarning[]).filter((word) => WARNING_TABLE[word](given));
