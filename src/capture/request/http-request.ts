/** A request as the contract has it: `context.http.request`, and who sent it. */

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
import type { ParameterSources, RequestParameters } from './plain-parameters.ts';
import { headerOf, peerOf, type RequestLike } from './request-like.ts';
import { pathOf, queryTextOf, userAgentOf } from './request-text.ts';

/**
 * A request as hosts have it: node:http's and node:http2's fit as they are, so do Express's. It is
 * read and never written.
 */
export interface HttpRequest extends RequestLike {
  readonly method?: string | undefined;
  /** The request target with its query: `/a?b=c`. */
  readonly url?: string | undefined;
  /** As it came in, where a router rewrites `url`. */
  readonly originalUrl?: string | undefined;
  /** Parsed, where the host or its application has parsed it. */
  readonly body?: unknown;
  /** What a router found in the path. */
  readonly params?: unknown;
}

/** Not the `{}` of events that no request caused (D4). */
export type RequestFacts = Extract<LogHttp['request'], { readonly host: string }>;

const MAX_VERB_LENGTH = 32;

/** Where not even the direct peer is known; no client has it. `metadata.unspecified` says so. */
const UNKNOWN_ADDRESS = '0.0.0.0';
/** The contract wants a port (D7) where none is known, as of a Unix socket; no client calls from it. */
const UNKNOWN_PORT = '1';

/** What is the same for every event of a request. */
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
    // Name by name, as in `describeNormal`.
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

/** The client's own where a proxy tells it, else that of the connection the request came by. */
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

/** What of the parameters may come after the head. */
export interface Parsed {
  readonly body: unknown;
  readonly params: unknown;
}

export function parsedOf(request: HttpRequest): Parsed {
  return { body: readSafely(request, 'body'), params: readSafely(request, 'params') };
}

/** Without the segments that are parameters of the route by sensitive names; `undefined` for none. */
export function redactedPath(
  request: HttpRequest,
  { params }: Parsed,
  { redactor }: CaptureSettings,
): string | undefined {
  try {
    const secrets = secretsIn(params, redactor);
    return secrets.length === 0 ? undefined : pathOf(targetOf(request), redactor, secrets);
  } catch {
    // A proxy whose traps throw: its values are nowhere shown, and may stand in the path.
    return `/${REDACTED}`;
  }
}

/** A parameter that takes several segments has them in a list, or in one text. */
function secretsIn(params: unknown, { isSensitiveKey }: Redactor): readonly string[] {
  if (isEmpty(params)) return [];
  const source = params as object;
  return Object.keys(source)
    .filter((name) => isSensitiveKey(name))
    .flatMap((name) => ownValue(source, name))
    .flatMap((value) => (typeof value === 'string' ? value.split('/') : []))
    .filter((segment) => segment !== '');
}

/** A host's getters may throw: then there is nothing yet. */
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

/** A router gives an empty object where its path has no parameters. */
function isEmpty(params: unknown): boolean {
  if (typeof params !== 'object' || params === null) return true;
  try {
    return Object.keys(params).length === 0;
  } catch {
    // A proxy's own keys could not be copied either.
    return true;
  }
}
