/** Reads a request as the contract's `context.http.request`, and its client. */
import { types } from 'node:util';
import type { LogHttp } from '../../contract/index.ts';
import { walkHops } from '../client-address/client-address.ts';
import { forwardedOrigin } from '../client-address/forwarded-origin.ts';
import { type ActorIp, describeNormalised } from '../enrichment/describe-address.ts';
import { REDACTED, type Redactor } from '../redaction/redactor.ts';
import type { CaptureSettings } from './capture-options.ts';
import { cleanText, cutText } from './clean-text.ts';
import { ownValue } from './foreign-value.ts';
import type { RequestParameters } from './parameters.ts';
import { headerOf, type Peer, type RequestLike, readQuietly } from './request-like.ts';
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

/** Parameters that the host may parse later: they are read again for each event. */
export type ParsedParameters = Pick<HttpRequest, 'body' | 'params'>;

/** The contract's request. Its other form, `{}`, is for events outside a request. */
export type RequestFacts = Extract<LogHttp['request'], { readonly host: string }>;

const MAX_VERB_LENGTH = 32;

/** For requests without a known peer. No client has this address; `actor.ip.metadata.unspecified` marks it. */
const UNKNOWN_ADDRESS = '0.0.0.0';
/** The contract requires a port; a Unix socket has none. Clients do not use port 1. */
const UNKNOWN_PORT = '1';

/** Address and request line, which are the same for all events of a request. */
export interface RequestHead {
  readonly ip: ActorIp;
  readonly request: Omit<RequestFacts, 'parameters'>;
}

/** `peer`: if it is known already; otherwise it is read from the request. */
export function readHead(
  request: HttpRequest,
  settings: CaptureSettings,
  peer?: Peer,
): RequestHead {
  const { addressPolicy, enrichment, redactor } = settings;
  const walk = walkHops(request, addressPolicy, peer);
  const { scheme, host, port } = forwardedOrigin(request, addressPolicy, walk);
  const ip = describeNormalised(walk.client?.address ?? UNKNOWN_ADDRESS, enrichment);
  const verb = cleanText(cutText(textOf(request, 'method') || 'GET', MAX_VERB_LENGTH));
  return {
    ip,
    // Listed one by one, since a spread costs more than everything else: see `describeNormalised`.
    request: {
      scheme,
      host,
      port,
      verb: verb as RequestFacts['verb'],
      path: pathOf(targetOf(request), redactor),
      user_agent: userAgentOf(headerOf(request, 'user-agent'), redactor),
      referer: null,
      remote_ip: ip.address,
      // The client's own port if a proxy names it. Otherwise the connection's, which may be the proxy's.
      remote_port: String(walk.client?.port ?? walk.peer?.port ?? UNKNOWN_PORT),
    },
  };
}

const targetOf = (request: HttpRequest): string | undefined =>
  textOf(request, 'originalUrl') ?? textOf(request, 'url');

function textOf(request: HttpRequest, name: keyof HttpRequest): string | undefined {
  const value = readQuietly(request, name);
  return typeof value === 'string' ? value : undefined;
}

/** Returns the path without the values of sensitive route parameters; `undefined` if there are none. */
export function redactedPath(
  request: HttpRequest,
  params: unknown,
  redactor: Redactor,
): string | undefined {
  try {
    const secrets = secretsIn(params, redactor);
    return secrets.length === 0 ? undefined : pathOf(targetOf(request), redactor, secrets);
  } catch {
    // A Proxy object whose traps throw: the path may contain its values, which are unknown.
    return `/${REDACTED}`;
  }
}

/** A parameter that spans several segments is an array or one string, depending on the router. */
function secretsIn(params: unknown, { isSensitiveKey }: Redactor): readonly string[] {
  if (typeof params !== 'object' || params === null) return [];
  return Object.keys(params)
    .filter((name) => isSensitiveKey(name))
    .flatMap((name) => ownValue(params, name))
    .flatMap((value) => (typeof value === 'string' ? value.split('/') : []))
    .filter((segment) => segment !== '');
}

const FORMS = ['application/x-www-form-urlencoded', 'multipart/form-data'];
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;

/** Returns the contract's key for the request's body, by media type; undefined for any other type, or none. */
export function bodyKindOf(request: RequestLike): 'form' | 'json' | undefined {
  const mediaType = mediaTypeOf(request);
  if (FORMS.includes(mediaType)) return 'form';
  return JSON_TYPE.test(mediaType) ? 'json' : undefined;
}

/** `application/JSON; charset=utf-8` is `application/json` (RFC 9110 section 8.3.1). */
function mediaTypeOf(request: RequestLike): string {
  const [mediaType = ''] = (headerOf(request, 'content-type') ?? '').split(';', 1);
  return mediaType.trim().toLowerCase();
}

/** Redaction finds no names in the text of a multipart body: only its parsed fields are collected. */
const isMultipartText = (request: RequestLike, body: unknown): boolean =>
  typeof body === 'string' && mediaTypeOf(request).startsWith('multipart/');

export function readParameters(
  request: HttpRequest,
  { body: parsed, params }: ParsedParameters,
  { copyParameters }: CaptureSettings,
): RequestParameters | undefined {
  if (copyParameters === undefined) return undefined;
  const body = isMultipartText(request, parsed) ? undefined : parsed;
  const kind = bodyKindOf(request);
  const hasOtherBody = kind === undefined && !isAbsent(body);
  const parameters = copyParameters({
    query: queryTextOf(targetOf(request)),
    ...(kind === undefined ? {} : { [kind]: body }),
    other: { ...(isAbsent(params) ? {} : { params }), ...(hasOtherBody ? { body } : {}) },
  });
  return Object.keys(parameters).length === 0 ? undefined : parameters;
}

/** Routers set an empty object if the path has no parameters, and Express 4's parsers if there is no body. */
function isAbsent(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === undefined || value === null;
  if (types.isProxy(value) || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // Fastify's router makes objects whose prototype is an empty object.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain && Object.keys(value).length === 0;
}
