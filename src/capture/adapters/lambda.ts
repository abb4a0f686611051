/** `security-event-delivery/lambda`: requests of AWS Lambda functions behind an HTTP API or a function URL. */
import { check, integer, object } from '../../option-rules.ts';
import { readProperty } from '../../own-properties.ts';
import { bodyKindOf } from '../request/body-source.ts';
import { CAPTURE_RULES, type CaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { blockedBody, isRequestBlocked } from '../request/request-blocked-error.ts';
import { createScopes } from '../request/request-capture.ts';
import { headerOf, type SocketLike } from '../request/request-like.ts';
import { type RequestScope, runInScope } from '../request/request-scope.ts';
import type { Block } from '../request/request-state.ts';
import { recordOnSpan } from '../request/span-exception.ts';

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

/** The response to a blocked request. */
export interface BlockedResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface LambdaCaptureOptions extends CaptureOptions {
  /** Reporter or sender that is flushed before the handler's result is returned. Default: none. */
  readonly flush?:
    | { flush(options: { readonly deadlineMs: number }): Promise<unknown> }
    | undefined;
  /**
   * Maximum time that the flush takes, in milliseconds; less if the function's own timeout is near.
   * 0 to 900000; default 2000.
   */
  readonly flushDeadlineMs?: number | undefined;
}

const RULES = {
  ...CAPTURE_RULES,
  flush: object(
    'a reporter or a sender',
    (value) => typeof readProperty(value, 'flush') === 'function',
  ),
  flushDeadlineMs: integer(0, 900_000),
};

/** Time that is left to the function after a flush: the result has to be returned. */
const RESERVE_MS = 250;

/**
 * Makes a handler whose requests are captured. A blocked request is answered with `blockedStatus`; other
 * errors are thrown on. Waits for the flush in both cases.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<E extends LambdaEvent, C extends LambdaContext, R>(
  handler: (event: E, context: C) => R | Promise<R>,
  options: LambdaCaptureOptions = {},
): (event: E, context: C) => Promise<R | BlockedResponse> {
  const given = check<LambdaCaptureOptions>(options, RULES);
  const { flush, flushDeadlineMs = 2000, ...capture } = given;
  const scopeOf = createScopes(capture);
  return async (event, context) => {
    const scope = isRequest(event)
      ? scopeOf(new CapturedEvent(event), undefined, event)
      : undefined;
    const handle = () => handler(event, context);
    try {
      const result = await (scope === undefined ? handle() : runInScope(scope, handle));
      return scope?.blockedBy === undefined ? result : answerTo(scope.blockedBy, scope);
    } catch (error) {
      if (scope === undefined || !isRequestBlocked(error)) throw error;
      return answerTo(error, scope);
    } finally {
      if (flush !== undefined) await flushed(flush, context, flushDeadlineMs);
    }
  };
}

/** Queues and schedules start functions, too: what these report has no request. */
function isRequest({ requestContext }: Partial<LambdaEvent>): boolean {
  return requestContext?.http !== undefined;
}

/** Never rejects: the request is answered regardless. */
async function flushed(
  source: NonNullable<LambdaCaptureOptions['flush']>,
  context: LambdaContext,
  flushDeadlineMs: number,
): Promise<void> {
  try {
    const leftMs = Math.floor(context.getRemainingTimeInMillis()) - RESERVE_MS;
    await source.flush({ deadlineMs: Math.max(0, Math.min(flushDeadlineMs, leftMs)) });
  } catch {
    // Its sender publishes what goes wrong.
  }
}

function answerTo(block: Block, scope: RequestScope): BlockedResponse {
  scope.block(block);
  recordOnSpan(block);
  return {
    statusCode: block.status,
    headers: { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' },
    body: blockedBody(block.status),
  };
}

/** An event as capture reads requests. Its headers have lower-case names. */
class CapturedEvent implements HttpRequest {
  readonly #event: LambdaEvent;
  #body: { readonly value: unknown } | undefined;

  constructor(event: LambdaEvent) {
    this.#event = event;
  }

  get headers(): HttpRequest['headers'] {
    return this.#event.headers;
  }

  get method(): string {
    return this.#event.requestContext.http.method;
  }

  get url(): string {
    const { rawPath, rawQueryString } = this.#event;
    return rawQueryString === '' ? rawPath : `${rawPath}?${rawQueryString}`;
  }

  /** Who is connected to API Gateway, which takes TLS alone. */
  get socket(): SocketLike {
    return { remoteAddress: this.#event.requestContext.http.sourceIp, encrypted: true };
  }

  get params(): unknown {
    return this.#event.pathParameters;
  }

  /** Parsed when the first event of the request needs it. */
  get body(): unknown {
    this.#body ??= { value: this.#parse() };
    return this.#body.value;
  }

  #parse(): unknown {
    const { body, isBase64Encoded } = this.#event;
    const kind = bodyKindOf(headerOf(this, 'content-type'));
    if (typeof body !== 'string' || kind === undefined) return undefined;
    const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
    // Parameters are read from the text of a form as from a query.
    if (kind === 'form') return text;
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
}
