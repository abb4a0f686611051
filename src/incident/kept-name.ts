/** Bounds the memory for an id, an address or an account: reports can have long ones. */
import { createHash } from 'node:crypto';

/** In characters. */
export const MAX_KEPT_LENGTH = 128;

/**
 * Returns the parts as JSON, which keeps them apart and shares no memory with them. Returns a digest
 * when that is too long.
 */
export function keptName(parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  if (text.length <= MAX_KEPT_LENGTH) return text;
  return createHash('sha256').update(text).digest('base64');
}
