/** Who is calling: the walk from the direct peer back over the proxies that are trusted. */

import { normaliseAddress } from '../../address/normalise.ts';
import { SecurityEventError } from '../../errors.ts';
import { ownProperties } from '../../own-properties.ts';
import { headerOf, peerOf, type RequestLike } from '../request/request-like.ts';
import { forwardedHops, type Refusal } from './forwarded-for.ts';
import { compileTrust, type Trust, type TrustedProxies } from './trusted-proxies.ts';

export interface ClientAddressOptions {
  /** Default: none, and then no header is read: the client is who is connected. */
  readonly trustedProxies?: TrustedProxies | undefined;
  /**
   * The one header that is believed when the direct peer is trusted; all others are ignored, though
   * present. `x-forwarded-for` (the default), `forwarded` (RFC 7239), or the name of another header
   * that holds an address or a list of them, the nearest last, such as `cf-connecting-ip`. With
   * `forwarded`, scheme and host are its `proto` and `host`; else they are those of
   * `x-forwarded-proto`, `-host` and `-port`. Name a header that your proxy sets or adds to: one
   * that it hands on as it came holds what the client wrote.
   */
  readonly addressHeader?: string | undefined;
}

/** Options once checked: made once, used for every request. */
export interface ClientAddressPolicy {
  readonly isTrusted: Trust;
  readonly addressHeader: string;
}

export interface ClientAddress {
  /** In D14's spelling: `net.isIP` accepts it. */
  readonly address: string;
  /** The client's own port, where it is known. */
  readonly port: number | undefined;
  /** 0: the direct peer. 1: who the last element of the header names; and so on to the left. */
  readonly hop: number;
  /** `socket`, or the name of the header that it was read from. */
  readonly source: string;
}

/**
 * - `trusted`: a trusted proxy, so what it says of the hop before it is believed
 * - `untrusted`: no trusted proxy, so the walk ends here: it is the client
 * - `no-address`: the direct peer has none, or none that can be read, and is not trusted without
 * - the rest: a hop that a trusted proxy names, but without an address
 */
export type Verdict = 'trusted' | 'untrusted' | 'no-address' | Refusal;

export interface Hop {
  readonly hop: number;
  readonly source: string;
  /** As it was written, a whole element of `Forwarded`; of the socket its address, `''` for none. */
  readonly token: string;
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly verdict: Verdict;
}

export interface Walk {
  readonly client: ClientAddress | undefined;
  /** From the direct peer on, as far as anything was read; never empty. */
  readonly hops: readonly [Hop, ...Hop[]];
}

/**
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` is `addressHeader`, or begins with
 * `trustedProxies`. Other keys are not looked at.
 */
export function readClientAddressOptions(options: ClientAddressOptions = {}): ClientAddressPolicy {
  const given = ownProperties(options);
  return {
    isTrusted: compileTrust(given.trustedProxies ?? []),
    addressHeader: readHeaderName(given.addressHeader ?? 'x-forwarded-for'),
  };
}

// RFC 9110 5.6.2
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

function readHeaderName(given: unknown): string {
  if (typeof given === 'string' && HEADER_NAME.test(given)) return given.toLowerCase();
  throw new SecurityEventError('ERR_INVALID_OPTION', {
    detail: 'addressHeader: expected the name of a header',
    path: ['addressHeader'],
  });
}

/**
 * The client's address: of the direct peer and the hops that the header names from right to left,
 * the first that is no trusted proxy. Where a trusted proxy names no address (`unknown`, say), the
 * last trusted hop that has one. Without a trusted peer headers are not read at all. Nothing in a
 * header makes it throw; `client` is `undefined` where not even the direct peer's address is known.
 * `forwardedOrigin` and `explainClientAddress` go by the walk, so one serves them all.
 */
export function walkHops(request: RequestLike, policy: ClientAddressPolicy): Walk {
  const peer = readPeer(request, policy.isTrusted);
  const hops: [Hop, ...Hop[]] = [peer];
  if (peer.verdict === 'trusted') {
    for (const hop of hopsOfHeader(request, policy)) hops.push(hop);
  }
  return { client: clientOf(hops), hops };
}

function readPeer(request: RequestLike, isTrusted: Trust): Hop {
  const peer = peerOf(request);
  const token = peer?.address ?? '';
  const address = normaliseAddress(token);
  const unreached: Verdict = address === undefined ? 'no-address' : 'untrusted';
  const verdict = isTrusted(address, 0) ? 'trusted' : unreached;
  return { hop: 0, source: 'socket', token, address, port: peer?.port, verdict };
}

/** Up to the first that is not trusted; only that one's predecessors vouch for it. */
function* hopsOfHeader(
  request: RequestLike,
  { addressHeader: source, isTrusted }: ClientAddressPolicy,
): Generator<Hop, void, void> {
  let hop = 1;
  for (const found of forwardedHops(source, headerOf(request, source) ?? '')) {
    const { token, address, port, refusal } = found;
    if (refusal !== undefined) {
      yield { hop, source, token, address, port, verdict: refusal };
      return;
    }
    const verdict = isTrusted(address, hop) ? 'trusted' : 'untrusted';
    yield { hop, source, token, address, port, verdict };
    if (verdict === 'untrusted') return;
    hop += 1;
  }
}

function clientOf(hops: readonly Hop[]): ClientAddress | undefined {
  const last = hops.findLast(({ address }) => address !== undefined);
  if (last?.address === undefined) return undefined;
  const { hop, source, address, port } = last;
  return { address, port, hop, source };
}
