/** Finds the client's address: walks from the direct peer back over the trusted proxies. */
import { normaliseAddress } from '../../address/normalise.ts';
import {
  checkedElsewhere,
  type OptionsOf,
  type OptionValues,
  option,
  readOptions,
  usable,
} from '../../option-rules.ts';
import { headerOf, type Peer, peerOf, type RequestLike } from '../request/request-like.ts';
import { forwardedHops, type Refusal } from './forwarded-for.ts';
import { compileTrust, type Trust, type TrustedProxies } from './trusted-proxies.ts';

// RFC 9110 5.6.2
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

export const CLIENT_ADDRESS_OPTIONS = {
  /** Lists the proxies whose headers you trust. Default: none; the client is the direct peer, which opened the connection. */
  trustedProxies: option<TrustedProxies>(checkedElsewhere('proxies'), [], 'none'),
  /**
   * The only header whose addresses are read, and only if the direct peer is trusted: `x-forwarded-for`
   * (the default), `forwarded` (RFC 7239), or another header with an address or a list of addresses, the
   * nearest last, such as `cf-connecting-ip`. Choose a header that your proxy sets or appends to: clients can
   * forge a header that the proxy passes on unchanged. The request's scheme, host and port are read from `proto`
   * and `host` of `forwarded`, or from `x-forwarded-proto`, `-host` and `-port` with any other header.
   */
  addressHeader: option<string>(
    usable('the name of a header', (value) => typeof value === 'string' && HEADER_NAME.test(value)),
    'x-forwarded-for',
  ),
} as const;

export interface ClientAddressOptions extends OptionsOf<typeof CLIENT_ADDRESS_OPTIONS> {}

export interface ClientAddressPolicy {
  readonly isTrusted: Trust;
  readonly addressHeader: string;
}

export interface ClientAddress {
  /** Normalised; `net.isIP` accepts it. */
  readonly address: string;
  /** The client's own port, if known. */
  readonly port: number | undefined;
  /** 0: the direct peer. 1: the last element of the header, 2 the one before it, and so on. */
  readonly hop: number;
  /** `socket`, or the name of the header. */
  readonly source: string;
}

/**
 * - `trusted`: a trusted proxy, so the next hop is read from its header
 * - `untrusted`: not a trusted proxy, so it is the client
 * - `no-address`: the direct peer has no readable address and is not trusted
 * - the rest: a trusted proxy's header has no readable address here
 */
export type Verdict = 'trusted' | 'untrusted' | 'no-address' | Refusal;

export interface Hop {
  readonly hop: number;
  readonly source: string;
  /** The original text: a whole element of the header (`''` if it was not read), or the socket's address, if any. */
  readonly token: string;
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly verdict: Verdict;
}

export interface Walk {
  readonly peer: Peer | undefined;
  readonly client: ClientAddress | undefined;
  /** From the direct peer on, as far as the header was read; never empty. */
  readonly hops: readonly [Hop, ...Hop[]];
}

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with the name of the option. */
export const readClientAddressOptions = (options: ClientAddressOptions = {}): ClientAddressPolicy =>
  clientAddressPolicy(readOptions(options, CLIENT_ADDRESS_OPTIONS));

/** For options that `readOptions` has read. Throws like {@link readClientAddressOptions}. */
export const clientAddressPolicy = ({
  trustedProxies,
  addressHeader,
}: OptionValues<typeof CLIENT_ADDRESS_OPTIONS>): ClientAddressPolicy => ({
  isTrusted: compileTrust(trustedProxies),
  addressHeader: addressHeader.toLowerCase(),
});

/**
 * Finds the client: the first hop that is not a trusted proxy, from the direct peer over the header's
 * elements from right to left; the last hop with an address if all are trusted, or if a trusted proxy names none
 * (`unknown`). Without a trusted peer no header is read. Never throws because of a header; `client` is `undefined`
 * if not even the direct peer's address is known.
 */
export function walkHops(
  request: RequestLike,
  policy: ClientAddressPolicy,
  peer: Peer | undefined = peerOf(request),
): Walk {
  const nearest = hopOfPeer(peer, policy.isTrusted);
  const hops: [Hop, ...Hop[]] = [nearest];
  if (nearest.verdict === 'trusted') {
    for (const hop of hopsOfHeader(request, policy)) hops.push(hop);
  }
  return { peer, client: clientOf(hops), hops };
}

function hopOfPeer(peer: Peer | undefined, isTrusted: Trust): Hop {
  const token = peer?.address ?? '';
  const address = normaliseAddress(token);
  const verdictIfUntrusted: Verdict = address === undefined ? 'no-address' : 'untrusted';
  const verdict = isTrusted(address, 0) ? 'trusted' : verdictIfUntrusted;
  return { hop: 0, source: 'socket', token, address, port: peer?.port, verdict };
}

/** Yields the header's hops up to the first that is not trusted: everything left of it may be forged. */
function* hopsOfHeader(
  request: RequestLike,
  { addressHeader: source, isTrusted }: ClientAddressPolicy,
): Generator<Hop, void, void> {
  let hop = 1;
  const found = forwardedHops(source, headerOf(request, source) ?? '');
  for (const { token, address, port, refusal } of found) {
    const verdict = refusal ?? (isTrusted(address, hop) ? 'trusted' : 'untrusted');
    yield { hop, source, token, address, port, verdict };
    if (verdict !== 'trusted') return;
    hop += 1;
  }
}

function clientOf(hops: readonly Hop[]): ClientAddress | undefined {
  const last = hops.findLast(({ address }) => address !== undefined);
  if (last?.address === undefined) return undefined;
  const { hop, source, address, port } = last;
  return { address, port, hop, source };
}
