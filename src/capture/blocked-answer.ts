/** What becomes of a request that was blocked, on hosts whose responses are like node:http's. */
import { blockedBody, type RequestBlockedError } from './request-blocked-error.ts';
import type { RequestScope } from './request-scope.ts';

/** node:http's and node:http2's, and what frameworks make of them. */
export interface NodeResponse {
  readonly headersSent: boolean;
  statusCode: number;
  removeHeader(name: string): void;
  setHeader(name: string, value: string): unknown;
  end(body?: string): unknown;
  destroy(error?: Error): unknown;
}

/** What told of a body that is not sent now; all else, such as CORS, holds for this answer too. */
const OF_THE_BODY = [
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

/** Answers in the place of what was asked for; an answer that has begun is broken off. */
export function answerBlocked(
  error: RequestBlockedError,
  response: NodeResponse,
  scope: RequestScope | undefined,
): void {
  scope?.answered({ blocked: true, status: error.status });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name of OF_THE_BODY) response.removeHeader(name);
  response.statusCode = error.status;
  response.setHeader('cache-control', 'no-store');
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(blockedBody(error.status));
}
