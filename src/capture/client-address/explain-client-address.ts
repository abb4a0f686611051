/** Why an address counts as the client's, for whoever sets `trustedProxies` up. */

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
  /** The one header that may be believed: `addressHeader`. */
  readonly header: string;
  /** From the direct peer to the left, as far as anything was read. */
  readonly hops: readonly Hop[];
  /** Headers of the request that tell of an address and had no say, in the order they are known in. */
  readonly ignored: readonly string[];
  /** All of this in lines to read. What a header held is shortened and written as JSON. */
  readonly text: string;
}

/**
 * Says hop by hop what was believed of a request, and why. It reads the options anew each time: for
 * setting up and for tests, not for every request.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` is `addressHeader`, or begins with
 * `trustedProxies`. Never for anything in a header.
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

/** What clients, proxies and other agents know; whoever is first believed in one can be forged. */
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
  trusted: 'a trusted proxy: what it says of the hop before it is believed',
  untrusted: 'no trusted proxy, so it is the client; what stands further left may be its own work',
  'no-address': 'no address, and not trusted without one',
  unknown: 'the proxy does not know it (RFC 7239 6.2)',
  obfuscated: 'the proxy hides it (RFC 7239 6.3)',
  'no-for': 'an element without "for"',
  malformed: 'not in the grammar of RFC 7239, or a parameter twice',
  'not-an-address': 'not an IP address as net.isIP knows them',
  'too-long': 'longer than 1024 characters, and not read',
  'too-many': 'more than 64 elements, and no more are read',
};

function textOf(explanation: Omit<ClientAddressExplanation, 'text'>): string {
  const { client, header, hops, ignored } = explanation;
  return [
    client === undefined
      ? 'The client address is not known.'
      : `The client address is ${client.address} (hop ${client.hop}, ${client.source}).`,
    ...hops.map(lineOf),
    ...endOf(hops, header),
    ...(ignored.length === 0 ? [] : [`Not believed: ${ignored.join(', ')}.`]),
  ].join('\n');
}

function lineOf({ hop, source, token, address, verdict }: Hop): string {
  const read = address === undefined || address === token ? '' : ` is ${address}`;
  return `- hop ${hop}, ${source}: ${shown(token)}${read}: ${REASONS[verdict]}`;
}

/** Only where the last hop's own line does not say why the walk ended. */
function endOf(hops: readonly Hop[], header: string): string[] {
  const verdict = hops.at(-1)?.verdict;
  if (verdict === 'trusted')
    return [`- ${header} names no further hop, so the last one is the client`];
  const isRefusal = hops.length > 1 && verdict !== 'untrusted';
  return isRefusal ? ['- so the last trusted hop that has an address counts as the client'] : [];
}

const MAX_SHOWN_CHARS = 80;

/** One line of ASCII, whatever a header held. */
function shown(token: string): string {
  const short = token.length > MAX_SHOWN_CHARS ? `${token.slice(0, MAX_SHOWN_CHARS)}…` : token;
  return JSON.stringify(short).replace(
    /[^ -~…]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
