/** Who called, and with what request: the context of a record, from a node:http request. */
import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { type LogActor, type LogHttp, VERBS } from 'security-event-delivery/contract';

export type IpFacts = LogActor['ip'];

/** The record's context without `service`, which is the same for all records. */
export interface RequestContext {
  readonly actor: LogActor;
  readonly http: LogHttp;
}

export interface Answer {
  readonly status: number;
  readonly isBlocked?: boolean;
  /** Who asked, where that is known. */
  readonly identifiers?: LogActor['identifiers'];
}

const ranges = (...cidrs: readonly (readonly [network: string, prefix: number])[]): BlockList => {
  const list = new BlockList();
  for (const [network, prefix] of cidrs) list.addSubnet(network, prefix);
  return list;
};

const LOOPBACK = ranges(['127.0.0.0', 8]);
const PRIVATE = ranges(['127.0.0.0', 8], ['10.0.0.0', 8], ['172.16.0.0', 12], ['192.168.0.0', 16]);
const MULTICAST = ranges(['224.0.0.0', 4]);
const RESERVED = ranges(['240.0.0.0', 4]);
const UNSPECIFIED = ranges(['0.0.0.0', 32]);

/** The facts that an IPv4 address tells by itself; city, proxy or Tor would need a database. */
function ipFacts(address: string): IpFacts {
  const isPrivate = PRIVATE.check(address);
  const multicast = MULTICAST.check(address);
  const reserved = RESERVED.check(address);
  const unspecified = UNSPECIFIED.check(address);
  return {
    address,
    geo: {},
    metadata: {
      version: 4,
      global: !(isPrivate || multicast || reserved || unspecified),
      loopback: LOOPBACK.check(address),
      private: isPrivate,
      multicast,
      reserved,
      unspecified,
      network_type: isPrivate ? 'private' : 'public',
      datacenter: null,
      proxy: false,
      tor: false,
      vpn: false,
    },
  };
}

/**
 * The contract wants the request's facts complete or not at all, so a verb that it does not know
 * (HEAD) gives `{}`.
 */
function requestFacts(request: IncomingMessage): LogHttp['request'] {
  const { localPort, remoteAddress, remotePort } = request.socket;
  const verb = VERBS.find((known) => known === request.method);
  if (!verb || !localPort || !remoteAddress || !remotePort) return {};
  const url = urlOf(request);
  return {
    host: request.headers.host ?? '',
    // Bodies stay out: they hold passwords.
    parameters: { query: Object.fromEntries(url.searchParams) },
    path: url.pathname,
    port: localPort,
    referer: null,
    remote_ip: remoteAddress,
    remote_port: String(remotePort),
    scheme: 'http',
    user_agent: request.headers['user-agent'] ?? '',
    verb,
  };
}

/** Of a request, on a host that does not matter. Throws where the path is none, such as `//`. */
export const urlOf = (request: IncomingMessage): URL =>
  new URL(request.url ?? '/', 'http://localhost');

/**
 * The context of one request and its answer. The server must listen on IPv4 and without a proxy in
 * front: the peer of the socket counts as the client.
 */
export function contextOf(
  request: IncomingMessage,
  { status, isBlocked = false, identifiers = null }: Answer,
): RequestContext {
  return {
    actor: {
      identifiers,
      // A peer that hung up meanwhile has no address any more.
      ip: ipFacts(request.socket.remoteAddress ?? '0.0.0.0'),
      svc_identifier: null,
    },
    http: { request: requestFacts(request), response: { blocked: isBlocked, status } },
  };
}
