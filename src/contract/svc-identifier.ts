import { SecurityEventError } from '../errors.ts';

/** Encodes a text as `svc_identifier`: standard, padded base64 of its UTF-8 bytes (D11). */
export const encodeSvcIdentifier = (text: string): string =>
  Buffer.from(text, 'utf8').toString('base64');

/** Decodes a `svc_identifier`. Throws ERR_INVALID_SVC_IDENTIFIER if {@link encodeSvcIdentifier} cannot return it. */
export function decodeSvcIdentifier(svcIdentifier: string): string {
  const bytes = Buffer.from(String(svcIdentifier), 'base64');
  const text = bytes.toString('utf8');
  // Node's decoder skips invalid characters, so encoding again is the check.
  if (encodeSvcIdentifier(text) !== svcIdentifier) {
    throw new SecurityEventError('ERR_INVALID_SVC_IDENTIFIER', { input: svcIdentifier });
  }
  return text;
}
