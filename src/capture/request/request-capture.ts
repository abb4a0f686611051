/** Creates the context and scope of a request, for host adapters. */
import { ownProperties } from '../../own-properties.ts';
import {
  type CaptureOptions,
  type CaptureSettings,
  readCaptureOptions,
} from './capture-options.ts';
import {
  type HttpRequest,
  type ParsedParameters,
  type RequestHead,
  readHead,
  readParameters,
  redactedPath,
} from './http-request.ts';
import { readQuietly } from './request-like.ts';
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
  return {
    contextOf: (request) => new CapturedRequest(request, request, settings).read(),
    run: (request, work, status) => runInScope(scopeOf(request, settings, { status }), work),
  };
}

/** Facts that a host has beside its request. */
interface HostFacts {
  /** Returns the status of a response that has begun. */
  readonly status?: (() => number | undefined) | undefined;
  /** Has the parsed body and the route's parameters. Default: the request. */
  readonly parsed?: ParsedParameters;
  /** The host's own request: nested adapters recognise it. Default: the request. */
  readonly original?: object;
}

/** Creates the scope of a request. */
export function scopeOf(
  request: HttpRequest,
  settings: CaptureSettings,
  facts: HostFacts,
): RequestScope {
  const { status, parsed = request, original = request } = ownProperties(facts);
  const captured = new CapturedRequest(request, parsed, settings);
  return new RequestScope(() => captured.read(), {
    hasChanged: () => captured.hasChanged(),
    status,
    blockedStatus: settings.blockedStatus,
    request: original,
    outer: currentScope(),
  });
}

/** Reads the head once, and the parameters again when a parser has changed them. */
class CapturedRequest {
  readonly #request: HttpRequest;
  readonly #parsed: ParsedParameters;
  readonly #settings: CaptureSettings;
  #head: RequestHead | undefined;
  #seen: ParsedParameters | undefined;

  constructor(request: HttpRequest, parsed: ParsedParameters, settings: CaptureSettings) {
    this.#request = request;
    this.#parsed = parsed;
    this.#settings = settings;
  }

  hasChanged(): boolean {
    const { body, params } = this.#readParsed();
    return body !== this.#seen?.body || params !== this.#seen?.params;
  }

  read(): Required<RequestContext> {
    const [request, settings] = [this.#request, this.#settings];
    this.#head ??= readHead(request, settings);
    this.#seen = this.#readParsed();
    const parameters = readParameters(request, this.#seen, settings);
    const path = redactedPath(request, this.#seen.params, settings.redactor);
    return {
      actor: { identifiers: null, ip: this.#head.ip, svc_identifier: null },
      http: {
        request: {
          ...this.#head.request,
          ...(path === undefined ? {} : { path }),
          ...(parameters === undefined ? {} : { parameters }),
        },
        response: { blocked: false },
      },
    };
  }

  #readParsed(): ParsedParameters {
    return { body: readQuietly(this.#parsed, 'body'), params: readQuietly(this.#parsed, 'params') };
  }
}
