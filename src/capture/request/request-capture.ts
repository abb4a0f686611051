/** Makes a request's context, and its scope: what every host adapter is built of. */
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

/** For hosts without an adapter of ours. */
export interface RequestCapture {
  /** Of one request, for those who keep it in a store of their own. */
  contextOf(request: HttpRequest): Required<RequestContext>;
  /**
   * Runs `work`, and all that it starts, on behalf of the request: what reports events there finds
   * its context. Nothing is read before an event wants it. Gives what `work` gives, or throws.
   *
   * @param status of the answer, once it has begun; quick. Counts from 100 to 599.
   */
  run<T>(request: HttpRequest, work: () => T, status?: () => number | undefined): T;
}

/**
 * Checks the options once, for every request to come.
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

/**
 * `original` is the host's own object, where `request` was made of it: adapters within one another
 * know by it that they serve the same request.
 */
type ScopeOf = (
  request: HttpRequest,
  status?: () => number | undefined,
  original?: object,
) => RequestScope;

/** What the adapters are built of: the options once checked, and a scope for each request. */
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

/** The head is read once; parameters again when a parser has been at work since. */
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
