/** Responds to blocked requests, on hosts whose responses are like node:http's. */
import { readProperty } from '../../own-properties.ts';
import { respondToBlock } from '../request/request-blocked-error.ts';
import type { Block, RequestScope } from '../request/request-scope.ts';

/** The used part of a response of node:http, node:http2 or a framework. */
export interface NodeResponse {
  readonly headersSent: boolean;
  statusCode: number;
  removeHeader(name: string): void;
  setHeader(name: string, value: number | string | string[]): unknown;
  end(body: string): unknown;
  destroy(error?: Error): unknown;
  /** Only in node:http2. */
  readonly stream?: { close(code: number): void } | null | undefined;
}

/** RFC 9113 section 7. With NO_ERROR the client would take the response for complete. */
const INTERNAL_ERROR = 2;

/** Headers that describe the body, which is replaced. All others, such as CORS, stay. */
export const BODY_HEADERS: readonly string[] = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'etag',
  'last-modified',
  'transfer-encoding',
];

export const statusOf = (response: NodeResponse) => (): number | undefined =>
  response.headersSent ? response.statusCode : undefined;

/** Sends the blocked response; aborts a response that has begun. */
export function sendBlocked(
  error: Block,
  response: NodeResponse,
  scope: RequestScope | undefined,
): void {
  const { statusCode, headers, body } = respondToBlock(error, scope);
  if (response.headersSent) {
    abortResponse(response);
    return;
  }
  for (const name of BODY_HEADERS) response.removeHeader(name);
  response.statusCode = statusCode;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body);
}

/** Ends an HTTP/1.1 connection, but only the stream of HTTP/2, whose connection has other requests. */
function abortResponse(response: NodeResponse): void {
  const stream = readProperty(response, 'stream') as NodeResponse['stream'];
  if (stream) stream.close(INTERNAL_ERROR);
  else response.destroy();
}
