import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseAddress } from './parse.ts';

/**
 * Returns the normalised text of an IP address: IPv4 as four decimal numbers, IPv6 as in RFC 5952 (lower
 * case, shortened, no dotted end), without a zone id. The contract prefers IPv4, so `::ffff:203.0.113.9`
 * becomes `203.0.113.9` and `::1` becomes `127.0.0.1` (D14). `undefined` for text that is not an address.
 */
export function normaliseAddress(text: string): string | undefined {
  // The most frequent case; IPv4 has only one spelling.
  if (isIPv4(text)) return text;
  const address = parseAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return undefined;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  const normal = address.toRFC5952String();
  return normal === '::1' ? '127.0.0.1' : normal;
}
