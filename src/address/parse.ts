import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One IP address, without its zone. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Reads what `net.isIP` accepts and nothing else: ipaddr.js alone would also take octal, hex and
 * short IPv4 forms, which other programs read as other addresses. A zone id is left out (D14).
 */
export function parseAddress(text: string): Address | undefined {
  if (isIP(text) === 0) return undefined;
  return ipaddr.parse(text.replace(ZONE, '').replace(DOTTED_COMPATIBLE, '0$&'));
}

const ZONE = /%.+/;

/**
 * ipaddr.js takes `::192.0.2.1` for `::ffff:192.0.2.1`, and so `::0.0.0.1` for another address than
 * `::1`; resolvers print IPv4-compatible addresses that way. Written `0::…` they are read right.
 */
const DOTTED_COMPATIBLE = /^::(?=\d+\.)/;
