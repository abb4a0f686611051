/** Warnings about destinations that are allowed but risky. */

/**
 * - `plain-http`: messages can be read in transit; the signature does not encrypt them.
 * - `short-secret`: fewer than 16 bytes can be guessed.
 * - `space-around-secret`: the space counts, and is easily lost when the secret is copied.
 */
export type DestinationWarning = 'plain-http' | 'short-secret' | 'space-around-secret';

const MIN_SECRET_BYTES = 16;

interface Checked {
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
