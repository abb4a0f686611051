/** A set of address ranges with binary search, since lists of networks may have 100,000 lines. */
import { normaliseAddress } from '../../address/normalise.ts';
import { type Address, parseAddress } from '../../address/parse.ts';

/** Addresses from the first to the last, as numbers. */
export interface Range {
  readonly isIPv4: boolean;
  readonly first: bigint;
  readonly last: bigint;
}

const CIDR = /^([0-9a-f:.]+)(?:\/([0-9]{1,3}))?$/i;
const IPV4_LOOPBACK = '127.0.0.1';
const IPV6_LOOPBACK = 1n;

const numberOf = (address: Address): bigint =>
  BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`);

/**
 * Parses a CIDR or an address. Ignores host bits. Returns the ranges of the addresses in normalised form:
 * IPv4 for IPv4-mapped IPv6 (`::ffff:0:0/96`), and 127.0.0.1 too if `::1` is included, which is normalised to
 * it. Returns undefined for any other text.
 */
export function rangesOf(text: string): readonly Range[] | undefined {
  const [, addressText = '', mask] = CIDR.exec(text) ?? [];
  const given = parseAddress(addressText);
  if (given === undefined) return undefined;
  // Checks the kind first: a polluted prototype might have a property `isIPv4MappedAddress`.
  const isMapped =
    given.kind() === 'ipv6' && 'isIPv4MappedAddress' in given && given.isIPv4MappedAddress();
  const address = isMapped ? given.toIPv4Address() : given;
  const bits = address.kind() === 'ipv4' ? 32 : 128;
  const prefix = mask === undefined ? bits : Number(mask) - (isMapped ? 96 : 0);
  if (prefix < 0 || prefix > bits) return undefined;
  const size = 1n << BigInt(bits - prefix);
  const number = numberOf(address);
  const first = number - (number % size);
  const range = { isIPv4: bits === 32, first, last: first + size - 1n };
  const hasLoopback = bits === 128 && first <= IPV6_LOOPBACK && IPV6_LOOPBACK <= range.last;
  return hasLoopback ? [range, ...(rangesOf(IPV4_LOOPBACK) as Range[])] : [range];
}

/** Sorts ranges of one family, and merges those that overlap. */
function merged(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    const before = result.at(-1);
    if (before === undefined || range.first > before.last) result.push(range);
    else if (range.last > before.last) result[result.length - 1] = { ...before, last: range.last };
  }
  return result;
}

function covers(ranges: readonly Range[], number: bigint): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle] as Range).first <= number) low = middle + 1;
    else high = middle;
  }
  const candidate = ranges[low - 1];
  return candidate !== undefined && number <= candidate.last;
}

/** Returns a function that checks whether an address, in any spelling, is in one of the ranges. */
export function addressSet(ranges: readonly Range[]): (address: string) => boolean {
  const v4 = merged(ranges.filter(({ isIPv4 }) => isIPv4));
  const v6 = merged(ranges.filter(({ isIPv4 }) => !isIPv4));
  return (text) => {
    const address = parseAddress(normaliseAddress(text) ?? '');
    if (address === undefined) return false;
    return covers(address.kind() === 'ipv4' ? v4 : v6, numberOf(address));
  };
}
