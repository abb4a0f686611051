/** Asks a host over a real socket, in whichever protocol it speaks. */

import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, constants, type IncomingHttpHeaders as Http2Headers } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { text } from 'node:stream/consumers';

/** `http2` is without TLS. */
export type HostProtocol = 'http' | 'https' | 'http2';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders | Http2Headers;
  readonly body: string;
}

export const portOf = (server: Server): number => (server.address() as AddressInfo).port;

export const originOf = (server: Server, protocol: HostProtocol): string =>
  `${protocol === 'https' ? 'https' : 'http'}://127.0.0.1:${portOf(server)}`;

/** Rejects where the answer breaks off. Every request has a connection of its own. */
export function ask(origin: string, path: string, protocol: HostProtocol, asked: Asked = {}) {
  return protocol === 'http2' ? askHttp2(origin, path, asked) : askHttp1(origin, path, asked);
}

async function askHttp1(origin: string, path: string, asked: Asked): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = asked;
  const options = { method, headers, agent: false, rejectUnauthorized: false };
  const url = new URL(origin);
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
    ...options,
    host: url.hostname,
    port: url.port,
    path,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const { statusCode = 0 } = response;
  return { status: statusCode, headers: response.headers, body: await text(response) };
}

async function askHttp2(origin: string, path: string, asked: Asked): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = asked;
  const session = connect(origin);
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers });
    stream.end(body);
    const [head] = (await once(stream, 'response')) as [Http2Headers & { ':status': number }];
    const received = await text(stream);
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw new Error('The answer broke off.');
    return { status: head[':status'], headers: head, body: received };
  } finally {
    session.destroy();
  }
}
