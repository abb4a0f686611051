/** One POST over a connection of its own, with exactly these headers. */
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { sign } from '../../src/webhook/signature.ts';

export interface Posted {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Posting {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
}

export function post(
  url: string,
  body: string | Buffer,
  { method = 'POST', headers = {} }: Posting = {},
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const { statusCode: status, headers: received } = response;
      text(response).then((read) => resolve({ status, headers: received, text: read }), reject);
    });
    request.end(body);
  });
}

/** As a sender does. */
export const postSigned = (
  url: string,
  body: string | Buffer,
  secret: string,
  headers: http.OutgoingHttpHeaders = {},
): Promise<Posted> =>
  post(url, body, {
    headers: {
      'content-type': 'application/json',
      'x-svc-integrity': sign(body, secret),
      ...headers,
    },
  });
