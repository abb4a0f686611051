/** Explains how the client's address was found, to help set up `trustedProxies`. */
import { headerOf, type RequestLike } from '../request/request-like.ts';
import {
  type ClientAddress,
  type ClientAddressOptions,
  type Hop,
  readClientAddressOptions,
  type Verdict,
  walkHops,
} from './client-address.ts';

export interface ClientAddressExplanation {
  readonly client: ClientAddress | undefined;
  /** The option `addressHeader`. */
  readonly header: string;
  /** From the direct peer to the left, as far as the header was read. */
  readonly hops: readonly Hop[];
  /** Headers of the request that usually contain addresses, but were not read. */
  readonly ignored: readonly string[];
  /** The explanation as text. Values of headers are shortened and written as JSON. */
  readonly text: string;
}

/**
 * Explains hop by hop which addresses of a request were trusted, and why. Validates the options at each
 * call: meant for setup and tests, not for every request.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with the name of the option.
 * Never because of a header.
 */
export function explainClientAddress(
  request: RequestLike,
  options: ClientAddressOptions = {},
): ClientAddressExplanation {
  const policy = readClientAddressOptions(options);
  const { client, hops } = walkHops(request, policy);
  const header = policy.addressHeader;
  const isHeaderRead = hops[0].verdict === 'trusted';
  const ignored = [...new Set([header, ...ADDRESS_HEADERS])].filter(
    (name) => !(name === header && isHeaderRead) && headerOf(request, name) !== undefined,
  );
  return { client, header, hops, ignored, text: textOf({ client, header, hops, ignored }) };
}

/** Headers with addresses that proxies and other agents use. */
const ADDRESS_HEADERS: readonly string[] = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'true-client-ip',
  'x-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'fastly-client-ip',
  'x-cluster-client-ip',
  'x-forwarded',
  'forwarded-for',
  'x-appengine-user-ip',
  'cf-pseudo-ipv4',
];

const REASONS: Readonly<Record<Verdict, string>> = {
  trusted: 'a trusted proxy, so the next hop is read from its header',
  untrusted: 'not a trusted proxy, so it is the client; everything further left may be forged',
  'no-address': 'no address, and only a `trustedProxies` number can trust such a peer',
  unknown: 'the proxy does not know the address (RFC 7239 6.2)',
  obfuscated: 'the proxy hides the address (RFC 7239 6.3)',
  'no-for': 'an element without "for"',
  malformed: 'breaks the grammar of RFC 7239, or repeats a parameter',
  'not-an-address': 'not an IP address that net.isIP accepts',
  'too-long': 'longer than 1024 characters, so it is not read',
  'too-many': 'more than 64 elements, so the rest is not read',
};

function textOf(explanation: Omit<ClientAddressExplanation, 'text'>): string {
  const { client, hops, ignored } = explanation;
  return [
    client === undefined
      ? 'The client address is not known.'
      : `The client address is ${client.address} (hop ${client.hop}, ${client.source}).`,
    ...hops.map(lineOf),
    ...endOf(explanation),
    ...(ignored.length === 0 ? [] : [`Ignored: ${ignored.join(', ')}.`]),
  ].join('\n');
}

function lineOf({ hop, source, token, address, verdict }: Hop): string {
  const read = address === undefined || address === token ? '' : ` is ${address}`;
  return `- hop ${hop}, ${source}: ${shown(token)}${read}: ${REASONS[verdict]}`;
}

/** Explains the end of the walk, unless the last hop's line does. */
function endOf({ client, header, hops }: Omit<ClientAddressExplanation, 'text'>): string[] {
  const verdict = hops.at(-1)?.verdict;
  const isKnown = client !== undefined;
  if (verdict === 'trusted')
    return [`- ${header} names no further hop${isKnown ? ', so the last one is the client' : ''}`];
  const isRefusal = hops.length > 1 && verdict !== 'untrusted';
  return isRefusal && isKnown
    ? ['- so the last trusted hop that has an address counts as the client']
    : [];
}

const MAX_SHOWN_CHARS = 80;

/** Returns one line: JSON in which only the mark of a cut is not ASCII. */
function shown(token: string): string {
  const short = token.length > MAX_SHOWN_CHARS ? `${token.slice(0, MAX_SHOWN_CHARS)}…` : token;
  return JSON.stringify(short).replace(
    /[^ -~…]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
