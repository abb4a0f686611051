/** `security-event-delivery/lambda`: captures requests of AWS Lambda functions behind API Gateway, a function URL or a load balancer. */
import {
  A_FUNCTION,
  integer,
  type OptionsOf,
  object,
  option,
  optional,
  readOptions,
  unusableOption,
} from '../../option-rules.ts';
import { hasMethods } from '../../own-properties.ts';
import {
  CAPTURE_OPTIONS,
  type CaptureSettings,
  readCaptureOptions,
} from '../request/capture-options.ts';
import {
  type BlockedResponse,
  respondToBlock,
  runUntilBlocked,
} from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';
import {
  type AnyHandler,
  type BlockedCall,
  callHandler,
  type LambdaResponseStream,
  streamBlocked,
  streamOf,
} from './lambda-call.ts';
import { type LambdaEvent, type LambdaProxyEvent, readEvent, responseTo } from './lambda-event.ts';
import {
  createLambdaFlush,
  type Flushable,
  type LambdaContext,
  type LambdaFlushFailure,
} from './lambda-flush.ts';

export type {
  BlockedResponse,
  LambdaContext,
  LambdaEvent,
  LambdaFlushFailure,
  LambdaProxyEvent,
  LambdaResponseStream,
};

const OPTIONS = {
  ...CAPTURE_OPTIONS,
  /** Reporter or sender that is flushed before the handler's result is returned. Default: none. */
  flush: optional<Flushable>(
    object('a reporter or a sender', (value) => hasMethods(value, 'flush')),
  ),
  /**
   * Maximum time that the flush takes, in milliseconds; less if the function's own timeout is near, and half of
   * it after each call that delivered nothing, but at least 100. 0 to 900000; default 2000.
   */
  flushDeadlineMs: option<number>(integer(0, 900_000), 2000),
  /**
   * Called with the result of the first flush that leaves messages undelivered, and of the next one after a
   * success. Default: none; `NODE_DEBUG=security-events` prints the same results.
   */
  onUndelivered: optional<(result: LambdaFlushFailure) => unknown>(A_FUNCTION),
} as const;

export interface LambdaCaptureOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Wraps a handler to capture its requests. Responds to a blocked request with the error's
 * `status`, and rethrows all other errors. Waits for the flush in both cases.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<
  E extends LambdaEvent | LambdaProxyEvent,
  C extends LambdaContext,
  R,
>(
  handler: (event: E, context: C) => R | Promise<R>,
  options?: LambdaCaptureOptions,
): (event: E, context: C) => Promise<R | BlockedResponse>;
/** Wraps a handler with a callback. */
export function captureRequests<
  E extends LambdaEvent | LambdaProxyEvent,
  C extends LambdaContext,
  R,
  K extends (...result: never) => void,
>(
  handler: (event: E, context: C, callback: K) => R,
  options?: LambdaCaptureOptions,
): (event: E, context: C, callback: K) => Promise<Exclude<Awaited<R>, void> | BlockedResponse>;
/** Wraps a handler that streams its response, for `awslambda.streamifyResponse`. */
export function captureRequests<
  E extends LambdaEvent | LambdaProxyEvent,
  S extends LambdaResponseStream,
  C extends LambdaContext,
>(
  handler: (event: E, stream: S, context: C) => Promise<void>,
  options?: LambdaCaptureOptions,
): (event: E, stream: S, context: C) => Promise<void>;
export function captureRequests(
  handler: AnyHandler,
  options: LambdaCaptureOptions = {},
): AnyHandler {
  const { flush, flushDeadlineMs, onUndelivered, ...capture } = readOptions(options, OPTIONS);
  const settings = readCaptureOptions(capture);
  if (!A_FUNCTION.isUsable(handler)) throw unusableOption(A_FUNCTION, ['handler']);
  const flushCall = flush && createLambdaFlush(flush, { flushDeadlineMs, onUndelivered });
  const call: AnyHandler = async (event, ...args) => {
    const stream = streamOf(args);
    let result: unknown;
    const handle = async (): Promise<void> => {
      result = await callHandler(handler, event, args);
    };
    try {
      const blocked = await runCaptured(event as LambdaEvent, settings, handle);
      if (blocked === undefined) return result;
      return stream === undefined ? blocked.response : streamBlocked(stream, blocked);
    } finally {
      await flushCall?.(args[stream === undefined ? 0 : 1] as LambdaContext | undefined);
    }
  };
  // From Node 24 on, AWS refuses handlers with three parameters.
  return Object.defineProperty(call, 'length', { value: handler.length });
}

/** Returns the response if the request was blocked. */
async function runCaptured(
  event: LambdaEvent,
  settings: CaptureSettings,
  handle: () => Promise<void>,
): Promise<BlockedCall | undefined> {
  const read = readEvent(event);
  if (read === undefined) {
    await handle();
    return undefined;
  }
  const { request, parsed } = read;
  const scope = scopeOf(request, settings, { parsed, original: event });
  const block = await runUntilBlocked(scope, handle);
  return block && { block, response: responseTo(event, respondToBlock(block, scope)) };
}
