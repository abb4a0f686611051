import { SecurityEventError } from '../../errors.ts';

const PROTOCOLS: ReadonlySet<string> = new Set(['http:', 'https:']);

/**
 * Parses the URL of a webhook. Its addresses are checked when connecting, not here. Errors contain
 * neither the text nor the parser's error: the URL may contain a token.
 *
 * @throws SecurityEventError `ERR_INVALID_URL` unless it is absolute, http or https, and without
 * credentials.
 */
export function parseWebhookUrl(text: string): URL {
  if (typeof text !== 'string') throw invalidUrl('it must be a string');
  const url = parse(text);
  if (!PROTOCOLS.has(url.protocol)) throw invalidUrl('its scheme must be http or https');
  if (url.username !== '' || url.password !== '') throw invalidUrl('it must not hold credentials');
  return url;
}

export function isWebhookUrl(text: string): boolean {
  try {
    parseWebhookUrl(text);
    return true;
  } catch {
    return false;
  }
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
