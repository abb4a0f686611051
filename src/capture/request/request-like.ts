/** The parts of a request that every host has: headers and connection. */
import { readProperty } from '../../own-properties.ts';

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
export function peerOf(request: RequestLike): Peer | undefined {
  try {
    const socket = readProperty(request, 'socket');
    if (typeof socket !== 'object' || socket === null) return undefined;
    const remoteAddress = readProperty(socket, 'remoteAddress');
    const remotePort = readProperty(socket, 'remotePort');
    return {
      address: typeof remoteAddress === 'string' ? remoteAddress : undefined,
      port: isPort(remotePort) ? remotePort : undefined,
      isEncrypted: readProperty(socket, 'encrypted') === true,
    };
  } catch {
    return undefined;
  }
}

/**
 * Returns a header's value; the values of a repeated header are joined (RFC 9110 section 5.3). Ignores
 * keys of a polluted prototype. Returns undefined if a getter of the host throws.
 */
export function headerOf(request: RequestLike, name: string): string | undefined {
  try {
    const headers = readProperty(request, 'headers');
    if (typeof headers !== 'object' || headers === null || !Object.hasOwn(headers, name)) {
      return undefined;
    }
    return joined(Reflect.get(headers, name));
  } catch {
    return undefined;
  }
}

function joined(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  return value.filter((part) => typeof part === 'string').join(',');
}

export function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;
}

/** Parses decimal digits; `undefined` for anything else, and for port 0. */
export function readPort(text: string): number | undefined {
  const port = PORT.test(text) ? Number(text) : undefined;
  return isPort(port) ? port : undefined;
}

const PORT = /^\d{1,5}$/;
