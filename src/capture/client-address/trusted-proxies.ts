/** The option `trustedProxies`: the proxies whose headers are trusted. */
import { parseAddress } from '../../address/parse.ts';
import { SecurityEventError } from '../../errors.ts';
import { type AddressRanges, addressRanges } from './address-ranges.ts';
import { MAX_HOPS } from './header-list.ts';

/**
 * - Text, or a list of texts: addresses (`10.1.2.3`, `2001:db8::7`), CIDRs (`10.0.0.0/8`) and the
 *   names `loopback` (127.0.0.0/8, ::1), `linklocal` (169.254.0.0/16, fe80::/10) and `uniquelocal`
 *   (RFC 1918, fc00::/7). One text may contain several, separated by commas. Refused are a prefix of 0,
 *   since clients could then forge their address, netmasks and zone ids.
 * - The number of proxies that every request passes, 0 to 64. Only this form can trust the peer of a
 *   Unix socket, which has no address.
 * - A function of a hop's address and number (0 is the direct peer). Only `true` trusts: a promise or
 *   an error does not. Not called for a peer without an address.
 *
 * Addresses are compared in normalised form: mapped ones as IPv4, `::1` as `127.0.0.1`, IPv6 as in
 * RFC 5952.
 */
export type TrustedProxies =
  | string
  | readonly string[]
  | number
  | ((address: string, hop: number) => boolean);

/** Returns whether a hop is a trusted proxy; never throws. `undefined`: the peer has no address. */
export type Trust = (address: string | undefined, hop: number) => boolean;

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `trustedProxies`. */
export function compileTrust(given: unknown): Trust {
  if (typeof given === 'number') return trustCount(given);
  if (typeof given === 'function') return trustFunction(given as (...given: unknown[]) => unknown);
  if (typeof given === 'string') {
    return trustRanges(given.split(',').flatMap((part) => readRange(part.trim(), [NAME])));
  }
  if (Array.isArray(given)) {
    return trustRanges(
      Array.from(given, (entry: unknown, index) => {
        const path = [NAME, index];
        if (typeof entry !== 'string') throw invalidOption('expected text', path);
        return entry.split(',').flatMap((part) => readRange(part.trim(), path));
      }).flat(),
    );
  }
  throw invalidOption('expected addresses, CIDRs, range names, a number or a function', [NAME]);
}

const NAME = 'trustedProxies';

function trustCount(count: number): Trust {
  if (!Number.isInteger(count) || count < 0 || count > MAX_HOPS) {
    throw invalidOption(`expected an integer from 0 to ${MAX_HOPS}`, [NAME]);
  }
  return (_address, hop) => hop < count;
}

function trustFunction(isTrusted: (...given: unknown[]) => unknown): Trust {
  return (address, hop) => {
    if (address === undefined) return false;
    try {
      return isTrusted(address, hop) === true;
    } catch {
      return false;
    }
  };
}

function trustRanges(ranges: readonly string[]): Trust {
  // Parsed before, so all are valid.
  const { has } = addressRanges(ranges) as AddressRanges;
  return (address) => address !== undefined && has(address);
}

const NAMED_RANGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);
const RANGE = /^([^/%]+)(?:\/(\d{1,3}))?$/;
const IPV6_LOOPBACK = '::1';

/** Returns the normalised ranges of a name, an address or a CIDR. */
function readRange(text: string, path: readonly PropertyKey[]): readonly string[] {
  const named = NAMED_RANGES.get(text);
  if (named !== undefined) return named;
  const [, addressText = '', prefixText] = RANGE.exec(text) ?? [];
  const given = parseAddress(addressText);
  if (given === undefined) {
    throw invalidOption('expected an address, a CIDR, loopback, linklocal or uniquelocal', path);
  }
  const mapped = 'isIPv4MappedAddress' in given && given.isIPv4MappedAddress();
  const address = mapped ? given.toIPv4Address() : given;
  const bits = address.kind() === 'ipv4' ? 32 : 128;
  const prefix = prefixText === undefined ? bits : Number(prefixText) - (mapped ? 96 : 0);
  if (prefix < 1 || prefix > bits) {
    throw invalidOption(`expected a prefix from 1 to ${bits}`, path);
  }
  const range = `${address.toString()}/${prefix}`;
  // Addresses are compared in normalised form, in which `::1` is `127.0.0.1`.
  const hasLoopback =
    bits === 128 && (addressRanges([range]) as AddressRanges).holds(IPV6_LOOPBACK);
  return hasLoopback ? [range, '127.0.0.1'] : [range];
}

function invalidOption(detail: string, path: readonly PropertyKey[]): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_OPTION', {
    detail: `${path.map(String).join('.')}: ${detail}`,
    path,
  });
}
