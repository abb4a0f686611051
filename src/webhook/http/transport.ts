/** Sends requests over our own connections, or over the host's dispatcher. */
import type { Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import { ignoreRejection } from '../../runtime/host-calls.ts';
import { optionalImport } from '../../runtime/optional-import.ts';
import { loadUndici } from './load-undici.ts';
import type { ConnectionSettings, ConnectionTarget } from './own-connections.ts';
import { createConnectionPool, type Lease, type ResponseHandler } from './pool.ts';

/** Deadlines of one attempt, all counted from its start, in ms: 1 to 2147483647. */
export interface Deadlines {
  /** Name lookup, TCP and TLS together. Default 5000. */
  readonly connectMs: number;
  /** Until the response headers. Default 15000. */
  readonly headersMs: number;
  /** Until the end of the response body. Default 20000. */
  readonly totalMs: number;
}

export interface Transport {
  /** Resolves when a connection can be leased; undefined if one can be leased already. */
  ready(): Promise<void> | undefined;
  /** Ending the lease ends its request. */
  lease(target: ConnectionTarget): Lease;
  close(): Promise<void>;
}

/** Loads undici on first use: with it and the connections, importing this package would take a twentieth longer. */
export function connectionTransport(
  settings: ConnectionSettings,
  maxIdleConnections: number,
): Transport {
  const pool = createConnectionPool(settings.clock, maxIdleConnections);
  let lease: Transport['lease'] | undefined;
  // Now, since Node never imports a file again that it could not open. There may be no free descriptors later.
  const connections = import('./own-connections.ts');
  ignoreRejection(connections);
  const load = async (): Promise<void> => {
    const [undici, { createLeases }] = await optionalImport('undici@7', () =>
      Promise.all([loadUndici(), connections]),
    );
    lease = createLeases(pool, settings, undici);
  };
  let loading: Promise<void> | undefined;

  return {
    ready: () => {
      if (lease !== undefined) return undefined;
      // A failed load is tried again: undici may have been installed, or files closed.
      loading ??= load().finally(() => {
        loading = undefined;
      });
      return loading;
    },
    lease: (target) => (lease as Transport['lease'])(target),
    close: () => pool.close(),
  };
}

/** Uses only the dispatcher's `request`: it may be from another copy, or another major, of undici. */
export function dispatcherTransport(dispatcher: Dispatcher): Transport {
  return {
    // Asynchronous, so that the stack of an error in the host's dispatcher has few frames of ours.
    ready: () => Promise.resolve(),
    lease: () => dispatcherLease(dispatcher),
    close: () => Promise.resolve(),
  };
}

function dispatcherLease(dispatcher: Dispatcher): Lease {
  let body: Dispatcher.ResponseData['body'] | undefined;
  const receive = async (
    options: Dispatcher.DispatchOptions,
    attempt: ResponseHandler,
  ): Promise<void> => {
    const onInfo: Dispatcher.RequestOptions['onInfo'] = () =>
      attempt.onResponseStart(null, 100, {});
    const { signal } = attempt;
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
    if (attempt.isOver) {
      discard(body);
      return;
    }
    attempt.onResponseStart(null, response.statusCode, response.headers);
    // Leaving the loop destroys the socket.
    for await (const chunk of body as AsyncIterable<Buffer>) {
      attempt.onResponseData(null, chunk);
      if (attempt.isOver) return;
    }
    attempt.onResponseEnd();
  };
  return {
    dispatcher: {
      dispatch: (options, attempt) => {
        receive(options, attempt).catch((error: unknown) => attempt.onResponseError(null, error));
      },
    },
    connectInfo: () => ({ phases: {} }),
    end: () => {
      if (body !== undefined) discard(body);
    },
  };
}

/** Destroys the socket of a body that was not read to its end. */
function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy();
}

function isResponse(value: unknown): value is Dispatcher.ResponseData {
  const { statusCode, headers, body } = (value ?? {}) as Partial<Dispatcher.ResponseData>;
  const isReadable = typeof body?.on === 'function' && typeof body.destroy === 'function';
  return (
    Number.isInteger(statusCode) && typeof headers === 'object' && headers !== null && isReadable
  );
}
