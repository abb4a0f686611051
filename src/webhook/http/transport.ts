/** Sends requests over our own connections, or over the host's dispatcher. */
import type { Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Deadlines } from './attempt-limits.ts';
import { createConnection } from './connection.ts';
import { createGuardedConnect, type GuardedConnect } from './connector.ts';
import { loadUndici, type Undici } from './load-undici.ts';
import { createConnectionPool, type Lease } from './pool.ts';
import {
  discard,
  dispatch,
  drain,
  firstRetryAfter,
  interimCounter,
  type Response,
  type ResponseBounds,
} from './response.ts';
import type { NetworkPolicy } from './ssrf-guard.ts';
import { credentialsIdentity, type TlsCredentials } from './tls.ts';

export interface PosterSettings {
  readonly network: NetworkPolicy;
  /** The host's own, for example for a proxy. It chooses addresses itself: needs `'delegated'`. */
  readonly dispatcher: Dispatcher | undefined;
  readonly deadlines: Deadlines;
  /** Maximum bytes of response body that are read to keep the connection. Default 8192. */
  readonly maxResponseBytes: number;
  /** Maximum idle connections, to all receivers together. Default 256. */
  readonly maxIdleConnections: number;
  readonly clock: Clock;
}

export interface Destination {
  readonly origin: string;
  readonly tls: TlsCredentials | undefined;
}

/** A connection for one request. */
export interface RequestLease extends Pick<Lease, 'connectInfo' | 'end'> {
  /** Rejects if there are no response headers. Ending the lease ends the request. */
  send(options: Dispatcher.DispatchOptions, bounds: ResponseBounds): Promise<Response>;
}

export interface Transport {
  /** Separate from leasing, so that an attempt that ends meanwhile leases nothing. */
  open(): Promise<LeaseConnection>;
  close(): Promise<void>;
}

export type LeaseConnection = (destination: Destination) => RequestLease;

/** Maximum number of credentials whose TLS sessions are kept; others cost a full TLS handshake. */
const MAX_CREDENTIALS = 256;

/** Loads undici on first use. */
export function ownTransport(settings: PosterSettings): Transport {
  const { clock, maxIdleConnections, maxResponseBytes } = settings;
  const pool = createConnectionPool(clock, maxIdleConnections);
  const build = async (): Promise<LeaseConnection> => {
    const undici = await loadUndici();
    const connectWith = connectsByCredentials(settings, undici);
    return ({ origin, tls }) => {
      const { id, connect } = connectWith(tls);
      const { Client } = undici;
      const lease = pool.lease(`${id} ${origin}`, (onLost) =>
        createConnection({ Client, origin, connect, maxResponseBytes, onLost }),
      );
      return { ...lease, send: (options, bounds) => dispatch(lease.dispatcher, options, bounds) };
    };
  };
  let built: Promise<LeaseConnection> | undefined;

  return {
    open: () => {
      built ??= build();
      return built;
    },
    close: () => pool.close(),
  };
}

interface SharedConnect {
  /** Unique for each set of credentials. */
  readonly id: number;
  readonly connect: GuardedConnect;
}

/** Shares one connect, and its TLS session cache, among destinations with the same credentials. */
function connectsByCredentials(settings: PosterSettings, { buildConnector }: Undici) {
  const { network, deadlines, clock } = settings;
  const connects = new Map<string, SharedConnect>();
  let count = 0;
  return (tls: TlsCredentials | undefined): SharedConnect => {
    const identity = credentialsIdentity(tls);
    const known = connects.get(identity);
    if (known !== undefined) return known;
    const options = { network, connectTimeoutMs: deadlines.connectMs, tls, clock };
    const made = { id: count, connect: createGuardedConnect(buildConnector, options) };
    count += 1;
    const [oldest] = connects.keys();
    if (connects.size >= MAX_CREDENTIALS && oldest !== undefined) connects.delete(oldest);
    connects.set(identity, made);
    return made;
  };
}

/** Uses only the dispatcher's `request`: it may be from another copy, or another major, of undici. */
export function foreignTransport(dispatcher: Dispatcher): Transport {
  return {
    open: () => Promise.resolve(() => foreignLease(dispatcher)),
    close: () => Promise.resolve(),
  };
}

function foreignLease(dispatcher: Dispatcher): RequestLease {
  let isEnded = false;
  let body: Dispatcher.ResponseData['body'] | undefined;
  const end = (): void => {
    isEnded = true;
    if (body !== undefined) discard(body);
  };
  return {
    send: async (options, { limits, maxBytes }) => {
      const { signal } = limits;
      const onInfo = interimCounter(limits);
      const response: unknown = await dispatcher.request(
        ownProperties({ ...options, signal, onInfo }),
      );
      if (!isResponse(response)) {
        throw Object.assign(new TypeError('the dispatcher resolved with something else'), {
          code: 'ERR_INVALID_RETURN_VALUE',
        });
      }
      ({ body } = response);
      // It may respond although its signal was aborted: the socket would stay open.
      if (isEnded) end();
      const { statusCode: status, headers } = response;
      return { status, retryAfter: firstRetryAfter(headers), bodyEnd: drain(body, maxBytes) };
    },
    connectInfo: () => ({ phases: {} }),
    end,
  };
}

function isResponse(value: unknown): value is Dispatcher.ResponseData {
  const { statusCode, headers, body } = (value ?? {}) as Partial<Dispatcher.ResponseData>;
  const isReadable = typeof body?.on === 'function' && typeof body.destroy === 'function';
  return (
    Number.isInteger(statusCode) && typeof headers === 'object' && headers !== null && isReadable
  );
}
