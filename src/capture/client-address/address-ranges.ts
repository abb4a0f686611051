/** A set of address ranges with binary search, since lists of networks may have 100,000 lines. */
import { normaliseAddress } from '../../address/normalise.ts';
import { type Address, parseAddress } from '../../address/parse.ts';

export interface AddressRanges {
  /** Number of ranges, after merging those that overlap. */
  readonly size: number;
  /** Returns whether the normalised address is in the set: `::1` is `127.0.0.1`. */
  readonly has: (address: string) => boolean;
  /** Returns whether the address is in the set, without normalising it. */
  readonly holds: (address: string) => boolean;
}

type Span = readonly [first: bigint, last: bigint];

interface Network {
  readonly span: Span;
  readonly isIPv4: boolean;
}

const CIDR = /^([0-9a-f:.]+)(?:\/([0-9]{1,3}))?$/i;

const bitsOf = (bytes: readonly number[]): bigint =>
  BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

const numberOf = (address: Address): bigint => bitsOf(address.toByteArray());

/** Parses a CIDR or an address. Ignores bits behind the mask. */
function networkOf(text: string): Network | undefined {
  const [, address = '', mask] = CIDR.exec(text) ?? [];
  const parsed = parseAddress(address);
  if (parsed === undefined) return undefined;
  const length = parsed.kind() === 'ipv4' ? 32 : 128;
  const prefix = mask === undefined ? length : Number(mask);
  if (prefix > length) return undefined;
  const size = 1n << BigInt(length - prefix);
  const number = numberOf(parsed);
  const first = number - (number % size);
  return { span: [first, first + size - 1n], isIPv4: length === 32 };
}

/** Sorts spans, and merges those that overlap or touch. */
function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const before = result.at(-1);
    if (before === undefined || span[0] > before[1] + 1n) result.push(span);
    else if (span[1] > before[1]) result[result.length - 1] = [before[0], span[1]];
  }
  return result;
}

function covers(spans: readonly Span[], number: bigint): boolean {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle] as Span)[0] <= number) low = middle + 1;
    else high = middle;
  }
  const candidate = spans[low - 1];
  return candidate !== undefined && number <= candidate[1];
}

/** Returns the set, or the index of the first text that is neither a CIDR nor an address. */
export function addressRanges(texts: readonly string[]): AddressRanges | number {
  const spans: { readonly v4: Span[]; readonly v6: Span[] } = { v4: [], v6: [] };
  for (const [index, text] of texts.entries()) {
    const network = networkOf(text);
    if (network === undefined) return index;
    spans[network.isIPv4 ? 'v4' : 'v6'].push(network.span);
  }
  const v4 = merged(spans.v4);
  const v6 = merged(spans.v6);
  const holds = (text: string): boolean => {
    const address = parseAddress(text);
    if (address === undefined) return false;
    return covers(address.kind() === 'ipv4' ? v4 : v6, numberOf(address));
  };
  return {
    size: v4.length + v6.length,
    has: (text) => holds(normaliseAddress(text) ?? ''),
    holds,
  };
}
