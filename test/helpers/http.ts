/** Plain HTTP: one POST, and free ports. */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { sign } from '../../src/webhook/signature.ts';

// One POST over a connection of its own, with exactly these headers.

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

// Ports for programs that are told theirs, and cannot ask the system for any.

/** Whether somebody listens there. */
export async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Below the ports that systems give to whoever connects or asks for any, and each test file's own. */
export interface PortRange {
  readonly first: number;
  readonly count: number;
}

/** One that nobody listens on; the search begins anywhere, for another run on the same machine. */
export async function freePort(
  { first, count }: PortRange,
  taken: readonly number[] = [],
): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = first + randomInt(count);
    if (!taken.includes(port) && !(await accepts(port))) return port;
  }
  throw new Error('no port is free');
}
