/** The parts of a request that every host has: headers and connection. */
import { readProperty } from '../../own-properties.ts';
import { tryCall } from '../../runtime/host-calls.ts';

/** Header values by lower-case name, including HTTP/2's pseudo-headers (`:authority`, `:scheme`). */
export type HeadersLike = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The direct peer's connection. */
export interface SocketLike {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** `true` over TLS, as in node:tls. */
  readonly encrypted?: boolean | undefined;
}

/**
 * A request, which is never changed. Those of node:http and node:http2 fit; `fetchRequest` adapts a Fetch
 * `Request`.
 */
export interface RequestLike {
  readonly headers: HeadersLike;
  /** Absent if the host does not know the peer. */
  readonly socket?: SocketLike | null | undefined;
}

/** The direct peer; `address` as the socket has it. */
export interface Peer {
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly isEncrypted: boolean;
}

/** Returns `undefined` if there is no socket. node:http2's throws after the end of its session. */
export const peerOf = (request: object): Peer | undefined =>
  tryCall(() => {
    const socket = readProperty(request, 'socket');
    if (typeof socket !== 'object' || socket === null) return undefined;
    const remoteAddress = readProperty(socket, 'remoteAddress');
    const remotePort = readProperty(socket, 'remotePort');
    return {
      address: typeof remoteAddress === 'string' ? remoteAddress : undefined,
      port: isPort(remotePort) ? remotePort : undefined,
      isEncrypted: readProperty(socket, 'encrypted') === true,
    };
  });

/**
 * Returns a header's value; the values of a repeated header are joined (RFC 9110 section 5.3). Ignores
 * keys of a polluted prototype. Returns undefined if a getter of the host throws.
 */
export function headerOf(request: RequestLike, name: string): string | undefined {
  return tryCall(() => {
    const headers = readProperty(request, 'headers') as HeadersLike | null | undefined;
    const value = headers && Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (!Array.isArray(value)) return typeof value === 'string' ? value : undefined;
    return value.filter((part) => typeof part === 'string').join(',');
  });
}

/** Returns a property of the host's object, or undefined if a getter throws. */
export const readQuietly = (source: object, name: string): unknown =>
  tryCall(() => readProperty(source, name));

const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;

/** Parses decimal digits; `undefined` for anything else, and for port 0. */
export function readPort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : undefined;
  return isPort(port) ? port : undefined;
}
