/** Finds the scheme, host and port of the client's own request, not of the last proxy's request. */
import { parseAddress } from '../../address/parse.ts';
import { headerOf, type RequestLike, readPort } from '../request/request-like.ts';
import type { ClientAddressPolicy, Walk } from './client-address.ts';
import { elementFromRight, readForwardedElement } from './forwarded-for.ts';

export interface RequestOrigin {
  readonly scheme: 'http' | 'https';
  /** Lower case; IPv6 in brackets (RFC 3986 section 3.2.2). `''` if no readable host was sent. */
  readonly host: string;
  /** Default: 80 or 443, by scheme. */
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
 * Forwarded values count only if the direct peer is trusted. Each proxy appends one value to every list. So the
 * value at the position of the client's address, counted from the right, is of the proxy that the client
 * connected to. Missing or unreadable values are taken from the connection, `:authority` or `Host`. `walk` is
 * `walkHops(request, policy)`. Never throws because of a header.
 */
export function forwardedOrigin(
  request: RequestLike,
  policy: ClientAddressPolicy,
  walk: Walk,
): RequestOrigin {
  const isTrusted = walk.hops[0].verdict === 'trusted';
  const forwarded = isTrusted ? readForwarded(request, policy.addressHeader, walk) : NOT_FORWARDED;
  const scheme = forwarded.scheme ?? directScheme(request, walk);
  const authority = forwarded.authority ?? directAuthority(request);
  const port = forwarded.port ?? authority?.port ?? DEFAULT_PORTS[scheme];
  return { scheme, host: authority?.host ?? '', port };
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

function readForwarded(request: RequestLike, addressHeader: string, walk: Walk): Forwarded {
  return addressHeader === 'forwarded' ? readElement(walk) : readLists(request, walk);
}

/** The element that names the client also describes the client's request. */
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
  // Of the hops, the first is the peer, which is in no list, and the last is the client; places begin at 0.
  // A trusted peer may set these headers without listing addresses.
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
 * A TLS connection is https. Otherwise HTTP/2's `:scheme` is only a claim: it counts from a trusted proxy
 * that terminates TLS, or if there is no connection to inspect.
 */
function directScheme(request: RequestLike, { peer, hops }: Walk): RequestOrigin['scheme'] {
  const isTrusted = hops[0].verdict === 'trusted';
  if (peer?.isEncrypted) return 'https';
  const claimed = isTrusted || peer === undefined ? headerOf(request, ':scheme') : undefined;
  return readScheme(claimed) ?? 'http';
}

/** `:authority` takes precedence over `Host` (RFC 9113 section 8.3.1). */
function directAuthority(request: RequestLike): Authority | undefined {
  return readAuthority(headerOf(request, ':authority') ?? headerOf(request, 'host'));
}

const SCHEMES: ReadonlyMap<string, RequestOrigin['scheme']> = new Map([
  ['http', 'http'],
  ['https', 'https'],
  // Traefik and others write the protocol of an upgrade.
  ['ws', 'http'],
  ['wss', 'https'],
]);

function readScheme(text: string | undefined): RequestOrigin['scheme'] | undefined {
  return SCHEMES.get(text?.toLowerCase() ?? '');
}

/** A name (RFC 3986 section 3.2.2) without commas, or an address in brackets; and a port. */
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
