import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One IP address, without its zone. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Parses only what `net.isIP` accepts: ipaddr.js alone would also accept octal, hex and short IPv4 forms,
 * which other programs read as other addresses. Drops a zone id.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIP(text) === 0) return undefined;
  return ipaddr.parse(text.replace(ZONE, '').replace(DOTTED_COMPATIBLE, '0$&'));
}

const ZONE = /%.+/;

/**
 * ipaddr.js parses `::192.0.2.1` as `::ffff:192.0.2.1`, so `::0.0.0.1` is not `::1`; resolvers print
 * IPv4-compatible addresses that way. It parses them correctly if they begin with `0::`.
 */
const DOTTED_COMPATIBLE = /^::(?=\d+\.)/;
