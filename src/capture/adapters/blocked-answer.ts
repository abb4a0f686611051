/** What becomes of a request that was blocked, on hosts whose responses are like node:http's. */
import { readProperty } from '../../own-properties.ts';
import { blockedBody } from '../request/request-blocked-error.ts';
import type { RequestScope } from '../request/request-scope.ts';
import type { Block } from '../request/request-story.ts';
import { recordOnSpan } from '../request/span-exception.ts';

/** node:http's and node:http2's, and what frameworks make of them. */
export interface NodeResponse {
  readonly headersSent: boolean;
  statusCode: number;
  removeHeader(name: string): void;
  setHeader(name: string, value: number | string | string[]): unknown;
  end(body: string): unknown;
  destroy(error?: Error): unknown;
  /** Of node:http2 alone. */
  readonly stream?: { close(code: number): void } | null | undefined;
}

/** RFC 9113 7: any other would tell the client that what it has is all. */
const INTERNAL_ERROR = 2;

/** What told of a body that is not sent now; all else, such as CORS, holds for this answer too. */
export const OF_THE_BODY: readonly string[] = [
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
export function answerBlock(
  error: Block,
  response: NodeResponse,
  scope: RequestScope | undefined,
): void {
  scope?.block(error);
  recordOnSpan(error);
  if (response.headersSent) {
    breakOff(response);
    return;
  }
  for (const name of OF_THE_BODY) response.removeHeader(name);
  response.statusCode = error.status;
  response.setHeader('cache-control', 'no-store');
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(blockedBody(error.status));
}

/** A connection of HTTP/1.1 ends with its answer; one of HTTP/2 has other requests under way. */
function breakOff(response: NodeResponse): void {
  const stream = readProperty(response, 'stream') as NodeResponse['stream'];
  if (stream) stream.close(INTERNAL_ERROR);
  else response.destroy();
}
