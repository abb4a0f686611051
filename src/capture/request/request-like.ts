/** What capture reads of a request: enough for node:http, node:http2 and an adapter of Fetch. */
import { readProperty } from '../../own-properties.ts';

/** Header values by lower-case name; HTTP/2's pseudo-headers (`:authority`, `:scheme`) among them. */
export type HeadersLike = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The direct peer's connection. */
export interface SocketLike {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** `true` over TLS, as in node:tls. */
  readonly encrypted?: boolean | undefined;
}

/**
 * A request, which is read and never written: frozen objects do. node:http's and node:http2's fit as
 * they are, and `fetchRequest` makes one of a Fetch `Request`.
 */
export interface RequestLike {
  readonly headers: HeadersLike;
  /** Absent where a host does not tell who is connected. */
  readonly socket?: SocketLike | null | undefined;
}

/** What was read of the direct peer; `address` as the socket spells it. */
export interface Peer {
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly isEncrypted: boolean;
}

/** `undefined` where the socket is absent or gone: node:http2's throws once its session is over. */
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
 * A header's value; of a repeated one all values in their order, as RFC 9110 5.3 joins them. Only
 * what the request itself has counts, not what an attack put on Object.prototype; nothing where a
 * host's getter throws.
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

/** D7 */
export function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;
}

/** Decimal digits alone; `undefined` for anything else, port 0 too. */
export function readPort(text: string): number | undefined {
  const port = PORT.test(text) ? Number(text) : undefined;
  return isPort(port) ? port : undefined;
}

const PORT = /^\d{1,5}$/;
