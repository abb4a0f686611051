/** Reads a request as the contract's `context.http.request`, and its client. */
import type { LogHttp } from '../../contract/index.ts';
import { readProperty } from '../../own-properties.ts';
import { type Walk, walkHops } from '../client-address/client-address.ts';
import { forwardedOrigin } from '../client-address/forwarded-origin.ts';
import { type ActorIp, describeNormal } from '../enrichment/describe-address.ts';
import { REDACTED, type Redactor } from '../redaction/redactor.ts';
import { bodySource } from './body-source.ts';
import type { CaptureSettings } from './capture-options.ts';
import { cleanText, cutText } from './clean-text.ts';
import { ownValue } from './foreign-value.ts';
import type { ParameterSources, RequestParameters } from './parameters.ts';
import { headerOf, peerOf, type RequestLike } from './request-like.ts';
import { pathOf, queryTextOf, userAgentOf } from './request-text.ts';

/** A host's request: those of node:http, node:http2 and Express fit. It is never changed. */
export interface HttpRequest extends RequestLike {
  readonly method?: string | undefined;
  /** The request target with its query: `/a?b=c`. */
  readonly url?: string | undefined;
  /** The original `url`, if a router rewrites it. */
  readonly originalUrl?: string | undefined;
  /** The parsed body, if the application has parsed it. */
  readonly body?: unknown;
  /** The route's parameters. */
  readonly params?: unknown;
}

/** Not the `{}` of events outside a request. */
export type RequestFacts = Extract<LogHttp['request'], { readonly host: string }>;

const MAX_VERB_LENGTH = 32;

/** If not even the direct peer is known. No client has it, and `metadata.unspecified` marks it. */
const UNKNOWN_ADDRESS = '0.0.0.0';
/** The contract requires a port; a Unix socket has none. Clients do not use port 1. */
const UNKNOWN_PORT = '1';

/** The part that is the same for all events of a request. */
export interface RequestHead {
  readonly ip: ActorIp;
  readonly request: Omit<RequestFacts, 'parameters'>;
}

export function readHead(request: HttpRequest, settings: CaptureSettings): RequestHead {
  const { addresses, enrichment, redactor } = settings;
  const walk = walkHops(request, addresses);
  const { scheme, host, port } = forwardedOrigin(request, addresses, walk);
  const ip = describeNormal(walk.client?.address ?? UNKNOWN_ADDRESS, enrichment);
  return {
    ip,
    // Listed one by one: see `describeNormal`.
    request: {
      scheme,
      host,
      port,
      verb: cleanText(
        cutText(textOf(request, 'method') || 'GET', MAX_VERB_LENGTH),
      ) as RequestFacts['verb'],
      path: pathOf(targetOf(request), redactor),
      user_agent: userAgentOf(headerOf(request, 'user-agent'), redactor),
      referer: null,
      remote_ip: ip.address,
      remote_port: remotePortOf(request, walk),
    },
  };
}

/** The client's own port if a proxy names it, else the direct peer's. */
function remotePortOf(request: RequestLike, { client }: Walk): string {
  const port = client?.port ?? peerOf(request)?.port;
  return port === undefined ? UNKNOWN_PORT : String(port);
}

const targetOf = (request: HttpRequest): string | undefined =>
  textOf(request, 'originalUrl') ?? textOf(request, 'url');

function textOf(request: HttpRequest, name: keyof HttpRequest): string | undefined {
  const value = readSafely(request, name);
  return typeof value === 'string' ? value : undefined;
}

/** The parameters that may be parsed later than the head. */
export interface Parsed {
  readonly body: unknown;
  readonly params: unknown;
}

export function parsedOf(request: HttpRequest): Parsed {
  return { body: readSafely(request, 'body'), params: readSafely(request, 'params') };
}

/** Redacts segments that are route parameters with sensitive names; `undefined` if there are none. */
export function redactedPath(
  request: HttpRequest,
  { params }: Parsed,
  { redactor }: CaptureSettings,
): string | undefined {
  try {
    const secrets = secretsIn(params, redactor);
    return secrets.length === 0 ? undefined : pathOf(targetOf(request), redactor, secrets);
  } catch {
    // A proxy whose traps throw: its unknown values may be in the path.
    return `/${REDACTED}`;
  }
}

/** A parameter of several segments is a list, or one text. */
function secretsIn(params: unknown, { isSensitiveKey }: Redactor): readonly string[] {
  if (isEmpty(params)) return [];
  const source = params as object;
  return Object.keys(source)
    .filter((name) => isSensitiveKey(name))
    .flatMap((name) => ownValue(source, name))
    .flatMap((value) => (typeof value === 'string' ? value.split('/') : []))
    .filter((segment) => segment !== '');
}

/** Returns undefined if a getter of the host throws. */
function readSafely(request: HttpRequest, name: keyof HttpRequest): unknown {
  try {
    return readProperty(request, name);
  } catch {
    return undefined;
  }
}

export function readParameters(
  request: HttpRequest,
  { body, params }: Parsed,
  { copyParameters }: CaptureSettings,
): RequestParameters | undefined {
  if (copyParameters === undefined) return undefined;
  const { rest, ...source } = bodySource(body, headerOf(request, 'content-type'));
  const other = {
    ...(isEmpty(params) ? {} : { params }),
    ...(rest === undefined ? {} : { body: rest }),
  };
  const sources: ParameterSources = { query: queryTextOf(targetOf(request)), ...source, other };
  const parameters = copyParameters(sources);
  return Object.keys(parameters).length === 0 ? undefined : parameters;
}

/** Routers set an empty object for paths without parameters. */
function isEmpty(params: unknown): boolean {
  if (typeof params !== 'object' || params === null) return true;
  try {
    return Object.keys(params).length === 0;
  } catch {
    // A proxy whose traps throw cannot be copied either.
    return true;
  }
}
