/** Creates the context and scope of a request, for host adapters. */
import type { LogActor, LogHttp } from '../../contract/index.ts';
import {
  type CaptureOptions,
  type CaptureSettings,
  readCaptureOptions,
} from './capture-options.ts';
import {
  type HttpRequest,
  type Parsed,
  parsedOf,
  type RequestHead,
  readHead,
  readParameters,
  redactedPath,
} from './http-request.ts';
import { currentScope, type RequestContext, RequestScope, runInScope } from './request-scope.ts';

/** Captures requests of hosts without an adapter. */
export interface RequestCapture {
  /** Returns the context of a request, for your own storage. */
  contextOf(request: HttpRequest): Required<RequestContext>;
  /**
   * Runs `work` in the scope of the request, also everything asynchronous that it starts: events reported
   * there have its context. The request is read when an event needs it. Returns or throws what `work` does.
   *
   * @param status returns the status of a response that has begun, 100 to 599; called often.
   */
  run<T>(request: HttpRequest, work: () => T, status?: () => number | undefined): T;
}

/**
 * Creates a capture for all requests with the same options.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createRequestCapture(options?: CaptureOptions): RequestCapture {
  const settings = readCaptureOptions(options);
  const scopeOf = scopesOf(settings);
  return {
    contextOf: (request) => new CapturedRequest(request, settings).read(),
    run: (request, work, status) => runInScope(scopeOf(request, status), work),
  };
}

/** `original` is the host's own request, if `request` adapts it: nested adapters recognise it. */
type ScopeOf = (
  request: HttpRequest,
  status?: () => number | undefined,
  original?: object,
) => RequestScope;

/** Validates the options, and returns a function that creates the scope of a request. */
export const createScopes = (options?: CaptureOptions): ScopeOf =>
  scopesOf(readCaptureOptions(options));

function scopesOf(settings: CaptureSettings): ScopeOf {
  const { blockedStatus } = settings;
  return (request, status = () => undefined, original = request) => {
    const captured = new CapturedRequest(request, settings);
    const progress = { hasMore: () => captured.hasMore(), status };
    const outer = currentScope();
    return new RequestScope(() => captured.read(), progress, {
      blockedStatus,
      request: original,
      outer,
    });
  };
}

/** Reads the head once, and the parameters again when a parser has changed them. */
class CapturedRequest {
  readonly #request: HttpRequest;
  readonly #settings: CaptureSettings;
  #head: RequestHead | undefined;
  #parsed: Parsed | undefined;

  constructor(request: HttpRequest, settings: CaptureSettings) {
    this.#request = request;
    this.#settings = settings;
  }

  hasMore(): boolean {
    const { body, params } = parsedOf(this.#request);
    return body !== this.#parsed?.body || params !== this.#parsed?.params;
  }

  read(): Required<RequestContext> {
    this.#head ??= readHead(this.#request, this.#settings);
    this.#parsed = parsedOf(this.#request);
    const parameters = readParameters(this.#request, this.#parsed, this.#settings);
    const path = redactedPath(this.#request, this.#parsed, this.#settings);
    const { ip, request } = this.#head;
    const actor: LogActor = { identifiers: null, ip, svc_identifier: null };
    const http: LogHttp = {
      request: {
        ...request,
        ...(path === undefined ? {} : { path }),
        ...(parameters === undefined ? {} : { parameters }),
      },
      response: { blocked: false },
    };
    return { actor, http };
  }
}
