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
import { type Peer, peerOf, readQuietly } from './request-like.ts';
import { type RequestContext, RequestScope, runInScope } from './request-scope.ts';

/** Captures requests of hosts without an adapter. */
export interface RequestCapture {
  /** Returns the context of a request, for your own storage. */
  contextOf(request: HttpRequest): Required<RequestContext>;
  /**
   * Runs `work` in the scope of the request, also everything asynchronous that it starts: events reported
   * there have its context. Reads the peer's address at once, and the rest when an event needs it. Returns or
   * throws what `work` does.
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
    contextOf: (request) =>
      capturedRequest({ request, parsed: request, peer: undefined }, settings).read(),
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

export function scopeOf(
  request: HttpRequest,
  settings: CaptureSettings,
  facts: HostFacts,
): RequestScope {
  const { status, parsed = request, original = request } = ownProperties(facts);
  // Read even if it is not used here: Node's sockets then keep their address after they have closed.
  const found = peerOf(original);
  const peer = request === original && found?.address !== undefined ? found : undefined;
  const { read, hasChanged } = capturedRequest({ request, parsed, peer }, settings);
  return new RequestScope(read, {
    hasChanged,
    status,
    blockedStatus: settings.blockedStatus,
    request: original,
  });
}

interface Source {
  readonly request: HttpRequest;
  readonly parsed: ParsedParameters;
  /**
   * If undefined, it is read with the head; an HTTP/2 request has none after its session has ended. Not optional, since
   * a polluted prototype must not supply it.
   */
  readonly peer: Peer | undefined;
}

/** Reads the head once, and the parameters again when a parser has changed them. */
function capturedRequest(
  { request, parsed, peer }: Source,
  settings: CaptureSettings,
): { readonly hasChanged: () => boolean; readonly read: () => Required<RequestContext> } {
  let head: RequestHead | undefined;
  let seen: ParsedParameters | undefined;
  const readParsed = (): ParsedParameters => ({
    body: readQuietly(parsed, 'body'),
    params: readQuietly(parsed, 'params'),
  });
  return {
    hasChanged: () => {
      const { body, params } = readParsed();
      return body !== seen?.body || params !== seen?.params;
    },
    read: () => {
      head ??= readHead(request, settings, peer);
      seen = readParsed();
      const parameters = readParameters(request, seen, settings);
      const path = redactedPath(request, seen.params, settings.redactor);
      return {
        actor: { identifiers: null, ip: head.ip, svc_identifier: null },
        http: {
          request: {
            ...head.request,
            ...(path === undefined ? {} : { path }),
            ...(parameters === undefined ? {} : { parameters }),
          },
          response: { blocked: false },
        },
      };
    },
  };
}
