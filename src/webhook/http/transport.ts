/** Where a request goes out: over connections of ours, or over the host's own dispatcher. */
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
  /** Which addresses may be connected to (D77). */
  readonly network: NetworkPolicy;
  /** The host's own, for example for a proxy. It chooses addresses itself: only with `'delegated'`. */
  readonly dispatcher: Dispatcher | undefined;
  readonly deadlines: Deadlines;
  /** Bytes of response body that are read to keep the connection. Default 8192. */
  readonly maxResponseBytes: number;
  /** Connections kept for later requests, to all receivers together. Default 256. */
  readonly maxIdleConnections: number;
  readonly clock: Clock;
}

export interface Destination {
  readonly origin: string;
  readonly tls: TlsCredentials | undefined;
}

/** What one request goes out over. */
export interface Line extends Pick<Lease, 'course' | 'end'> {
  /** Rejects where there are no response headers. Ending the line ends what it sends. */
  send(options: Dispatcher.DispatchOptions, bounds: ResponseBounds): Promise<Response>;
}

export interface Transport {
  /** Apart from taking a line, so that an attempt that ends meanwhile connects to nothing. */
  open(): Promise<TakeLine>;
  close(): Promise<void>;
}

export type TakeLine = (destination: Destination) => Line;

/** How many credentials are remembered; what is forgotten costs a full TLS handshake. */
const MAX_CREDENTIALS = 256;

/** Built when first opened: a poster that never sends never loads undici. */
export function ownTransport(settings: PosterSettings): Transport {
  const { clock, maxIdleConnections, maxResponseBytes } = settings;
  const pool = createConnectionPool(clock, maxIdleConnections);
  const build = async (): Promise<TakeLine> => {
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
  let built: Promise<TakeLine> | undefined;

  return {
    open: () => {
      built ??= build();
      return built;
    },
    close: () => pool.close(),
  };
}

interface SharedConnect {
  /** Tells those of other credentials apart. */
  readonly id: number;
  readonly connect: GuardedConnect;
}

/** One connect for all who have the same credentials, since it keeps their TLS sessions. */
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

/**
 * Asked through its own method: it may be of another copy, or another major, of undici. TLS and
 * connections are its own affair.
 */
export function foreignTransport(dispatcher: Dispatcher): Transport {
  return {
    open: () => Promise.resolve(() => foreignLine(dispatcher)),
    close: () => Promise.resolve(),
  };
}

function foreignLine(dispatcher: Dispatcher): Line {
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
      // It may answer although its signal was aborted: that would hold a socket.
      if (isEnded) end();
      const { statusCode: status, headers } = response;
      return { status, retryAfter: firstRetryAfter(headers), over: drain(body, maxBytes) };
    },
    course: () => ({ phases: {} }),
    end,
  };
}

/** What an attempt uses of a response. */
function isResponse(value: unknown): value is Dispatcher.ResponseData {
  const { statusCode, headers, body } = (value ?? {}) as Partial<Dispatcher.ResponseData>;
  const isReadable = typeof body?.on === 'function' && typeof body.destroy === 'function';
  return (
    Number.isInteger(statusCode) && typeof headers === 'object' && headers !== null && isReadable
  );
}
