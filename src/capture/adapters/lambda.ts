/** `security-event-delivery/lambda`: captures requests of AWS Lambda functions behind an HTTP API or a function URL. */
import {
  A_FUNCTION,
  integer,
  type OptionsOf,
  type OrUndefined,
  object,
  option,
  optional,
  readOptions,
  unusableOption,
} from '../../option-rules.ts';
import { readProperty } from '../../own-properties.ts';
import { tryCall } from '../../runtime/host-calls.ts';
import { CAPTURE_OPTIONS, readCaptureOptions } from '../request/capture-options.ts';
import { bodyKindOf, type HttpRequest, type ParsedParameters } from '../request/http-request.ts';
import {
  type BlockedResponse,
  respondToBlock,
  runUntilBlocked,
} from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';

/** The part of an event of API Gateway (payload format 2.0) that is used. */
export interface LambdaEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: {
    readonly http: { readonly method: string; readonly sourceIp: string };
  };
  readonly pathParameters?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: string | undefined;
  readonly isBase64Encoded: boolean;
}

/** The part of the function's context that is used. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

export type { BlockedResponse };

interface Flushable {
  flush(options: { readonly deadlineMs: number }): Promise<unknown>;
}

const OPTIONS = {
  ...CAPTURE_OPTIONS,
  /** Reporter or sender that is flushed before the handler's result is returned. Default: none. */
  flush: optional<Flushable>(
    object('a reporter or a sender', (value) => typeof readProperty(value, 'flush') === 'function'),
  ),
  /**
   * Maximum time that the flush takes, in milliseconds; less if the function's own timeout is near.
   * 0 to 900000; default 2000.
   */
  flushDeadlineMs: option<number>(integer(0, 900_000), 2000),
} as const;

export interface LambdaCaptureOptions extends OrUndefined<OptionsOf<typeof OPTIONS>> {}

/** Time that a flush leaves to the function for returning its result. */
const RESERVE_MS = 250;

/**
 * Wraps a handler to capture its requests. Responds to a blocked request with the error's
 * `status`, and rethrows all other errors. Waits for the flush in both cases.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<E extends LambdaEvent, C extends LambdaContext, R>(
  handler: (event: E, context: C) => R | Promise<R>,
  options: LambdaCaptureOptions = {},
): (event: E, context: C) => Promise<R | BlockedResponse> {
  const { flush, flushDeadlineMs, ...capture } = readOptions(options, OPTIONS);
  const settings = readCaptureOptions(capture);
  if (!A_FUNCTION.isUsable(handler)) throw unusableOption(A_FUNCTION, ['handler']);
  return async (event, context) => {
    let result: R | undefined;
    const handle = async (): Promise<void> => {
      result = await handler(event, context);
    };
    try {
      if (isRequest(event)) {
        const request = requestOf(event);
        const parsed = parsedOf(event, request);
        const scope = scopeOf(request, settings, { parsed, original: event });
        const block = await runUntilBlocked(scope, handle);
        if (block !== undefined) return respondToBlock(block, scope);
      } else {
        await handle();
      }
      return result as R;
    } finally {
      if (flush !== undefined) await flushQuietly(flush, context, flushDeadlineMs);
    }
  };
}

/** Queues, schedules and test invocations have no request, and may have no event. */
function isRequest(event: Partial<LambdaEvent> | null | undefined): boolean {
  return Boolean(event?.requestContext?.http);
}

/** Never rejects: the request is answered regardless. */
async function flushQuietly(
  source: Flushable,
  context: Partial<LambdaContext> | undefined,
  flushDeadlineMs: number,
): Promise<void> {
  try {
    // A test may call the handler without a context, or with an empty one.
    const remainingMs = context?.getRemainingTimeInMillis?.() ?? Number.POSITIVE_INFINITY;
    const leftMs = Math.floor(remainingMs) - RESERVE_MS;
    await source.flush({ deadlineMs: Math.max(0, Math.min(flushDeadlineMs, leftMs)) });
  } catch {
    // The sender itself publishes its failures.
  }
}

/** Headers of these events have lower-case names. */
function requestOf({ headers, requestContext, rawPath, rawQueryString }: LambdaEvent): HttpRequest {
  const { method, sourceIp } = requestContext.http;
  return {
    headers,
    method,
    // An event that a test makes may lack the query.
    url: rawQueryString ? `${rawPath}?${rawQueryString}` : rawPath,
    // The client that is connected to API Gateway, which only accepts TLS.
    socket: { remoteAddress: sourceIp, encrypted: true },
  };
}

/** Parses the body when the first event of the request needs it. */
function parsedOf(event: LambdaEvent, request: HttpRequest): ParsedParameters {
  let body: { readonly value: unknown } | undefined;
  return {
    get body() {
      body ??= { value: parse(event, bodyKindOf(request)) };
      return body.value;
    },
    params: event.pathParameters,
  };
}

function parse({ body, isBase64Encoded }: LambdaEvent, kind: 'form' | 'json' | undefined): unknown {
  if (typeof body !== 'string' || kind === undefined) return undefined;
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  // The text of a form is decoded later, like a query; that of a multipart form is left out.
  if (kind === 'form') return text;
  return tryCall((): unknown => JSON.parse(text));
}
