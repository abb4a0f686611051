import { SecurityEventError } from '../../errors.ts';

const PROTOCOLS: ReadonlySet<string> = new Set(['http:', 'https:']);

/**
 * The URL to send to, used as it is (D33). Which addresses it may lead to is judged when
 * connecting, not here.
 *
 * No error holds the text, nor the parser's own error, which holds it: it may contain a password
 * or a token.
 *
 * @throws SecurityEventError `ERR_INVALID_URL` unless it is absolute, http or https, and without
 * credentials (D61).
 */
export function parseWebhookUrl(text: string): URL {
  if (typeof text !== 'string') throw invalidUrl('it must be a string');
  const url = parse(text);
  if (!PROTOCOLS.has(url.protocol)) throw invalidUrl('its scheme must be http or https');
  if (url.username !== '' || url.password !== '') throw invalidUrl('it must not hold credentials');
  return url;
}

function parse(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw invalidUrl('it must be an absolute URL');
  }
}

function invalidUrl(detail: string): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_URL', { detail, path: ['url'] });
}
