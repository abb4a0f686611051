/** Where a request goes out: over connections of ours, or over the host's own dispatcher. */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../system/clock.ts';
import { onAbort } from '../../system/on-abort.ts';
import { createGuardedConnect } from './connector.ts';
import { loadUndici } from './load-undici.ts';
import type { PosterSettings } from './post-options.ts';

export type SendRequest = (options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

export interface Transport {
  /** Apart from sending, so that an attempt that ends meanwhile connects to nothing. */
  open(): Promise<SendRequest>;
  close(): Promise<void>;
}

/**
 * Shorter than what common receivers grant idle connections (Node and uvicorn 5 s): whoever closes
 * later may write into a connection that is already dead.
 */
const KEEP_ALIVE_MS = 4000;

/** Node's default, fixed here: the host may have raised its own for other reasons. */
const MAX_RESPONSE_HEADER_BYTES = 16_384;

/** Built when first opened: a poster that never sends never loads undici. */
export function ownTransport(settings: PosterSettings): Transport {
  const { network, deadlines, maxResponseBytes } = settings;
  const closing = new AbortController();
  const clock = endingWith(closing.signal, settings.clock);
  const build = async () => {
    const { Agent, buildConnector, request } = await loadUndici();
    const agent = new Agent({
      connect: createGuardedConnect(buildConnector, {
        network,
        connectTimeoutMs: deadlines.connectMs,
        clock,
      }),
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      // Its end is the connection's: read or not, nothing larger came in.
      maxResponseSize: maxResponseBytes,
    });
    const send: SendRequest = (outgoing) => request(agent, outgoing);
    return { agent, send };
  };
  let built: ReturnType<typeof build> | undefined;

  return {
    open: async () => {
      built ??= build();
      return (await built).send;
    },
    close: async () => {
      closing.abort();
      // What failed to load has nothing to close, and its attempts have told why.
      await built?.then(
        ({ agent }) => agent.destroy(),
        () => {},
      );
    },
  };
}

/**
 * A clock whose waits are over when the transport closes. undici does not reach a connection that
 * is still being made; its connect deadline, brought forward, does.
 */
function endingWith(closing: AbortSignal, clock: Clock): Clock {
  return {
    ...clock,
    sleep: async (ms, signal) => {
      const wait = new AbortController();
      const endings = [closing, signal].filter((ending) => ending !== undefined);
      const letGo = endings.map((ending) => onAbort(ending, () => wait.abort()));
      await clock.sleep(ms, wait.signal);
      for (const takeOff of letGo) takeOff();
    },
  };
}

/** Asked through its own method: it may be of another copy, or another major, of undici. */
export function foreignTransport(dispatcher: Dispatcher): Transport {
  const send: SendRequest = async (options) => {
    const response: unknown = await dispatcher.request(options);
    if (isResponse(response)) return response;
    throw Object.assign(new TypeError('the dispatcher resolved with something else'), {
      code: 'ERR_INVALID_RETURN_VALUE',
    });
  };
  return { open: () => Promise.resolve(send), close: () => Promise.resolve() };
}

/** What an attempt uses of a response. */
function isResponse(value: unknown): value is Dispatcher.ResponseData {
  const { statusCode, headers, body } = (value ?? {}) as Partial<Dispatcher.ResponseData>;
  const isReadable = typeof body?.on === 'function' && typeof body.destroy === 'function';
  return (
    Number.isInteger(statusCode) && typeof headers === 'object' && headers !== null && isReadable
  );
}
