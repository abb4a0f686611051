import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One IP address, without its zone. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Parses only what `net.isIP` accepts: ipaddr.js alone would also accept octal, hex and short IPv4 forms,
 * which other programs read as other addresses. Drops a zone id.
 */
export function parseAddress(text: string): Address | undefined {
  const version = isIP(text);
  if (version === 0) return undefined;
  if (version === 4) return new ipaddr.IPv4(text.split('.').map(Number));
  return ipaddr.IPv6.parse(text.replace(ZONE, '').replace(DOTTED_COMPATIBLE, '0$&'));
}

const ZONE = /%.+/;

/**
 * Matches the start of an IPv4-compatible address such as `::192.0.2.1`, as resolvers print it. ipaddr.js reads
 * it as `::ffff:192.0.2.1`, so that `::0.0.0.1` would not be `::1`. It reads `0::192.0.2.1` correctly.
 */
const DOTTED_COMPATIBLE = /^::(?=\d+\.)/;
