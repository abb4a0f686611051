/** Reads events of API Gateway, function URLs and load balancers as requests. */
import { lazyValue } from '../../lazy-value.ts';
import { isObjectLike, ownProperties, readProperty } from '../../own-properties.ts';
import { tryCall } from '../../runtime/host-calls.ts';
import { bodyKindOf, type HttpRequest, type ParsedParameters } from '../request/http-request.ts';
import type { BlockedResponse } from '../request/request-blocked-error.ts';
import type { HeadersLike } from '../request/request-like.ts';

type Values = Readonly<Record<string, string | undefined>>;
type ValueLists = Readonly<Record<string, readonly string[] | undefined>>;

/** The used part of an event of an HTTP API or a function URL (payload format 2.0). */
export interface LambdaEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Values;
  readonly requestContext: {
    readonly http: { readonly method: string; readonly sourceIp: string };
  };
  readonly pathParameters?: Values | undefined;
  readonly body?: string | undefined;
  readonly isBase64Encoded: boolean;
}

/** The used part of an event of a REST API (payload format 1.0) or an Application Load Balancer. */
export interface LambdaProxyEvent {
  readonly httpMethod: string;
  readonly path: string;
  readonly headers?: Values | null | undefined;
  readonly multiValueHeaders?: ValueLists | null | undefined;
  readonly queryStringParameters?: Values | null | undefined;
  readonly multiValueQueryStringParameters?: ValueLists | null | undefined;
  readonly pathParameters?: Values | null | undefined;
  readonly requestContext: {
    readonly identity?: { readonly sourceIp: string } | undefined;
    /** Only a load balancer's event has it. */
    readonly elb?: object | undefined;
  };
  readonly body?: string | null | undefined;
  readonly isBase64Encoded: boolean;
}

export interface LambdaRequest {
  readonly request: HttpRequest;
  readonly parsed: ParsedParameters;
}

/** Returns the request of an event. Queues, schedules and test invocations have none, and may have no event. */
export function readEvent(given: LambdaEvent | LambdaProxyEvent): LambdaRequest | undefined {
  const event = ownProperties(given);
  const request = requestOf(event as Partial<LambdaEvent & LambdaProxyEvent>);
  return request && { request, parsed: parsedOf(event, request) };
}

function requestOf(event: Partial<LambdaEvent & LambdaProxyEvent>): HttpRequest | undefined {
  if (!isObjectLike(event.requestContext)) return undefined;
  if (isObjectLike(readProperty(event.requestContext, 'http')))
    return gatewayRequest(event as LambdaEvent);
  const isProxy = typeof event.httpMethod === 'string';
  return isProxy ? proxyRequest(event as LambdaProxyEvent) : undefined;
}

/** Headers of format 2.0 have lower-case names. */
function gatewayRequest(event: LambdaEvent): HttpRequest {
  const { headers, requestContext, rawPath, rawQueryString } = event;
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

function proxyRequest(event: LambdaProxyEvent): HttpRequest {
  const { identity } = ownProperties(event.requestContext);
  const headers = lazyValue(() => lowerCased(event.multiValueHeaders ?? event.headers));
  const url = lazyValue(() => urlOf(event));
  return {
    method: event.httpMethod,
    get headers() {
      return headers();
    },
    get url() {
      return url();
    },
    // A load balancer names neither itself nor, outside its headers, the client.
    socket: identity && { remoteAddress: identity.sourceIp, encrypted: true },
  };
}

/** The same header in two spellings keeps the last one, as in AWS's own frameworks. */
const lowerCased = (headers: Values | ValueLists | null | undefined): HeadersLike =>
  Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );

/** API Gateway decodes the query; a load balancer passes it on as it came. */
function urlOf(event: LambdaProxyEvent): string {
  const { path, multiValueQueryStringParameters, queryStringParameters, requestContext } = event;
  const given = multiValueQueryStringParameters ?? queryStringParameters ?? {};
  const pairs = Object.entries(given).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  );
  const query = isFromBalancer(requestContext)
    ? pairs.map((pair) => pair.join('=')).join('&')
    : new URLSearchParams(pairs).toString();
  return query === '' ? path : `${path}?${query}`;
}

const isFromBalancer = (requestContext: object): boolean => Object.hasOwn(requestContext, 'elb');

/** Parses the body when the first event of the request needs it. */
function parsedOf(event: LambdaEvent | LambdaProxyEvent, request: HttpRequest): ParsedParameters {
  const body = lazyValue(() => parse(event, bodyKindOf(request)));
  return {
    get body() {
      return body();
    },
    params: event.pathParameters,
  };
}

function parse(
  { body, isBase64Encoded }: LambdaEvent | LambdaProxyEvent,
  kind: 'form' | 'json' | undefined,
): unknown {
  if (typeof body !== 'string' || kind === undefined) return undefined;
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  // The text of a form is decoded later, like a query; that of a multipart form is left out.
  if (kind === 'form') return text;
  return tryCall((): unknown => JSON.parse(text));
}

/** A load balancer requires `isBase64Encoded`, and headers in the form in which it sent those of the request. */
export function responseTo(
  event: LambdaEvent | LambdaProxyEvent,
  response: BlockedResponse,
): BlockedResponse {
  if (!isFromBalancer(event.requestContext)) return response;
  const answer = { ...response, isBase64Encoded: false };
  if (!Object.hasOwn(event, 'multiValueHeaders')) return answer;
  const lists = Object.entries(response.headers).map(([name, value]) => [name, [value]] as const);
  return Object.assign(answer, { multiValueHeaders: Object.fromEntries(lists) });
}
