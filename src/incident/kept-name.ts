/** How an id, an address or an account is kept in memory: long ones are the reports' to choose. */
import { createHash } from 'node:crypto';

/** In characters. */
export const MAX_KEPT_LENGTH = 128;

/**
 * JSON keeps the parts apart, whatever characters they have, and shares no memory with them. What is
 * longer is kept as its digest.
 */
export function keptName(parts: readonly string[]): string {
  const text = JSON.stringify(parts);
  if (text.length <= MAX_KEPT_LENGTH) return text;
  return createHash('sha256').update(text).digest('base64');
}
