import { SecurityEventError } from '../errors.ts';

/** The `svc_identifier` of a text: standard, padded base64 of its UTF-8 bytes (D11). */
export const encodeSvcIdentifier = (text: string): string =>
  Buffer.from(text, 'utf8').toString('base64');

/**
 * The text of a `svc_identifier` (D11). Throws ERR_INVALID_SVC_IDENTIFIER for anything that
 * {@link encodeSvcIdentifier} does not make.
 */
export function decodeSvcIdentifier(svcIdentifier: string): string {
  const bytes = Buffer.from(String(svcIdentifier), 'base64');
  const text = bytes.toString('utf8');
  // Node's decoder skips what it does not know, so the way back is the check.
  if (encodeSvcIdentifier(text) !== svcIdentifier) {
    throw new SecurityEventError('ERR_INVALID_SVC_IDENTIFIER', { input: svcIdentifier });
  }
  return text;
}
