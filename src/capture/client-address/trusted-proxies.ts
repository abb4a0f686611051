/** The option `trustedProxies`: the proxies whose headers are trusted. */
import { integer, unusableOption } from '../../option-rules.ts';
import { tryCall } from '../../runtime/host-calls.ts';
import { addressSet, type Range, rangesOf } from './address-ranges.ts';
import { MAX_HOPS } from './forwarded-for.ts';

/**
 * - Text, or a list of texts: addresses (`10.1.2.3`, `2001:db8::7`), CIDRs (`10.0.0.0/8`) and the
 *   names `loopback` (127.0.0.0/8, ::1), `linklocal` (169.254.0.0/16, fe80::/10) and `uniquelocal`
 *   (RFC 1918, fc00::/7). One text may contain several, separated by commas. Netmasks and
 *   zone ids are refused, and so is a prefix of 0, with which clients could forge their address.
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
  if (typeof given === 'string') return trustRanges(readRanges(given, [NAME]));
  if (Array.isArray(given)) {
    return trustRanges(
      Array.from(given, (entry: unknown, index) => {
        const path = [NAME, index];
        if (typeof entry !== 'string') throw unusableOption({ expected: 'a string' }, path);
        return readRanges(entry, path);
      }).flat(),
    );
  }
  throw unusableOption({ expected: 'addresses, CIDRs, range names, a number or a function' }, [
    NAME,
  ]);
}

const NAME = 'trustedProxies';
const COUNT = integer(0, MAX_HOPS);
const RANGE = { expected: 'an address, a CIDR, loopback, linklocal or uniquelocal' };
const PREFIX_FROM_1 = { expected: 'networks with a prefix of at least 1' };

function trustCount(count: number): Trust {
  if (!COUNT.isUsable(count)) throw unusableOption(COUNT, [NAME]);
  return (_address, hop) => hop < count;
}

function trustFunction(isTrusted: (...given: unknown[]) => unknown): Trust {
  return (address, hop) => address !== undefined && tryCall(() => isTrusted(address, hop)) === true;
}

function trustRanges(ranges: readonly Range[]): Trust {
  const has = addressSet(ranges);
  return (address) => address !== undefined && has(address);
}

const NAMED_RANGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/** Reads addresses, CIDRs and names, separated by commas. */
function readRanges(text: string, path: readonly PropertyKey[]): readonly Range[] {
  const entries = text.split(',').flatMap((part) => NAMED_RANGES.get(part.trim()) ?? part.trim());
  return entries.flatMap((entry) => {
    const ranges = rangesOf(entry);
    if (ranges === undefined) throw unusableOption(RANGE, path);
    if (ranges.some(isEverything)) throw unusableOption(PREFIX_FROM_1, path);
    return ranges;
  });
}

const isEverything = ({ isIPv4, first, last }: Range): boolean =>
  last - first + 1n === 1n << (isIPv4 ? 32n : 128n);
