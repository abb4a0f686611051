/** Scheme, host and port as the client used them, not as the last proxy did. */
import { parseAddress } from '../../address/parse.ts';
import { headerOf, peerOf, type RequestLike, readPort } from '../request/request-like.ts';
import type { ClientAddressPolicy, Walk } from './client-address.ts';
import { readForwardedElement } from './forwarded-for.ts';
import { elementFromRight } from './header-list.ts';

export interface RequestOrigin {
  readonly scheme: 'http' | 'https';
  /** Lower case; IPv6 in its brackets (RFC 3986 3.2.2). `''` where none or none readable was sent (D19). */
  readonly host: string;
  /** The scheme's own, 80 or 443, where none was sent. */
  readonly port: number;
}

interface Authority {
  readonly host: string;
  readonly port: number | undefined;
}

interface Forwarded {
  readonly scheme: RequestOrigin['scheme'] | undefined;
  readonly authority: Authority | undefined;
  readonly port: number | undefined;
}

const NOT_FORWARDED: Forwarded = { scheme: undefined, authority: undefined, port: undefined };

/**
 * Forwarded values count only when the direct peer is trusted, and then those that the proxy which
 * the client reached has written: of a list the value as far from the right as the client is.
 * Each that is missing or not readable is taken from the connection, `:authority` or `Host`.
 * `walk` is `walkHops(request, policy)`. Nothing in a header makes it throw.
 */
export function forwardedOrigin(
  request: RequestLike,
  policy: ClientAddressPolicy,
  walk: Walk,
): RequestOrigin {
  const isTrusted = walk.hops[0].verdict === 'trusted';
  const forwarded = isTrusted ? readForwarded(request, policy.addressHeader, walk) : NOT_FORWARDED;
  const scheme = forwarded.scheme ?? ownScheme(request, isTrusted);
  const authority = forwarded.authority ?? ownAuthority(request);
  const port = forwarded.port ?? authority?.port ?? DEFAULT_PORTS[scheme];
  return { scheme, host: authority?.host ?? '', port };
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

function readForwarded(request: RequestLike, addressHeader: string, walk: Walk): Forwarded {
  return addressHeader === 'forwarded' ? readElement(walk) : readLists(request, walk);
}

/** The element that names the client tells of the request in which the client was met. */
function readElement({ hops }: Walk): Forwarded {
  const [, ...elements] = hops;
  const parameters = readForwardedElement(elements.at(-1)?.token ?? '');
  return {
    scheme: readScheme(parameters?.get('proto')),
    authority: readAuthority(parameters?.get('host')),
    port: undefined,
  };
}

function readLists(request: RequestLike, { hops }: Walk): Forwarded {
  // The client's own place among the values; a trusted peer without a list may set these all the same.
  const place = Math.max(0, hops.length - 2);
  const read = (name: string): string | undefined => {
    const value = headerOf(request, name);
    return value === undefined ? undefined : elementFromRight(value, place);
  };
  return {
    scheme: readScheme(read('x-forwarded-proto')),
    authority: readAuthority(read('x-forwarded-host')),
    port: readPort(read('x-forwarded-port') ?? ''),
  };
}

/**
 * A connection with TLS is https. Without, the `:scheme` of HTTP/2 is a claim: a trusted proxy's
 * that ends TLS itself is believed, and anybody's where there is no connection to look at.
 */
function ownScheme(request: RequestLike, isTrusted: boolean): RequestOrigin['scheme'] {
  const peer = peerOf(request);
  if (peer?.isEncrypted) return 'https';
  const claimed = isTrusted || peer === undefined ? headerOf(request, ':scheme') : undefined;
  return readScheme(claimed) ?? 'http';
}

/** RFC 9113 8.3.1: `:authority` counts more than `Host`. */
function ownAuthority(request: RequestLike): Authority | undefined {
  return readAuthority(headerOf(request, ':authority') ?? headerOf(request, 'host'));
}

const SCHEMES: ReadonlyMap<string, RequestOrigin['scheme']> = new Map([
  ['http', 'http'],
  ['https', 'https'],
  // Traefik and others write what the request asks to become.
  ['ws', 'http'],
  ['wss', 'https'],
]);

function readScheme(text: string | undefined): RequestOrigin['scheme'] | undefined {
  return SCHEMES.get(text?.toLowerCase() ?? '');
}

/** A name as RFC 3986 3.2.2 writes it, without commas; or an address in brackets; and a port. */
const AUTHORITY = /^(?:([\w!$%&'()*+.;=~-]{1,255})|\[([\da-f:.]{2,45})\])(?::(\d{0,5}))?$/i;

function readAuthority(text: string | undefined): Authority | undefined {
  const match = AUTHORITY.exec(text ?? '');
  if (match === null) return undefined;
  const [, name, address = '', portText = ''] = match;
  const port = readPort(portText);
  if (name !== undefined) return { host: name.toLowerCase(), port };
  return parseAddress(address) === undefined
    ? undefined
    : { host: `[${address.toLowerCase()}]`, port };
}
