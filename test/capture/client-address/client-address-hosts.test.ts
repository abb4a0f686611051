/** Requests as Node's servers hand them over, from real sockets. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import {
  readClientAddressOptions,
  walkHops,
} from '../../../src/capture/client-address/client-address.ts';
import {
  forwardedOrigin,
  type RequestOrigin,
} from '../../../src/capture/client-address/forwarded-origin.ts';
import type { RequestLike } from '../../../src/capture/request/request-like.ts';

const POLICY = readClientAddressOptions({ trustedProxies: 'loopback' });

const reported = (request: RequestLike): { address: string | undefined; origin: RequestOrigin } => {
  const walk = walkHops(request, POLICY);
  return { address: walk.client?.address, origin: forwardedOrigin(request, POLICY, walk) };
};

/** What `read` gives of one request, whose lines are written as they are. */
async function overHttp<T>(
  head: string,
  read: (request: IncomingMessage) => T | Promise<T>,
): Promise<T> {
  const server = createServer({ maxHeaderSize: 256 * 1024 });
  server.listen(0, '::');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  try {
    socket.write(`GET / HTTP/1.1\r\n${head}\r\n\r\n`);
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    return await read(request);
  } finally {
    socket.destroy();
    server.close();
  }
}

test('node:http hands over repeated headers and a mapped peer, and both are read', async () => {
  const head = [
    'Host: inner:3000',
    'X-Forwarded-For: 6.6.6.6',
    'X-Forwarded-For: 203.0.113.9',
    'X-Forwarded-For: 127.0.0.2',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: a.example',
  ].join('\r\n');
  const [peer, found] = await overHttp(head, (request) => [
    request.socket.remoteAddress,
    reported(request),
  ]);
  expect(peer).toBe('::ffff:127.0.0.1');
  expect(found).toEqual({
    address: '203.0.113.9',
    origin: { scheme: 'https', host: 'a.example', port: 443 },
  });
});

test('a header of 100,000 commas costs no more than its last 64', async () => {
  const head = `Host: a.example\r\nX-Forwarded-For: 6.6.6.6${','.repeat(100_000)} 203.0.113.9`;
  expect((await overHttp(head, reported)).address).toBe('203.0.113.9');
});

test('a request whose socket is gone has no client, and does not throw', async () => {
  const gone = await overHttp('Host: a.example', async (request) => {
    request.socket.destroy();
    await once(request.socket, 'close');
    return walkHops(request, POLICY).client;
  });
  expect(gone).toBeUndefined();
});

test('node:http2 tells host and scheme by pseudo-headers, and its ended session is no danger', async () => {
  const server = createHttp2Server();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({
      ':authority': 'a.example:8443',
      ':scheme': 'https',
      'x-forwarded-for': '6.6.6.6, 203.0.113.9',
    });
    stream.on('error', () => {});
    const [request] = (await once(server, 'request')) as [RequestLike & IncomingMessage];
    expect(reported(request)).toEqual({
      address: '203.0.113.9',
      origin: { scheme: 'https', host: 'a.example', port: 8443 },
    });
    const closed = once(session, 'close');
    session.destroy();
    await Promise.all([closed, once(request, 'close')]);
    expect(reported(request).address).toBeUndefined();
  } finally {
    session.destroy();
    server.close();
  }
});

test('a Fetch request fits through its headers as a record', () => {
  const fetched = new Request('https://a.example/', {
    headers: { host: 'a.example', 'x-forwarded-for': '6.6.6.6, 203.0.113.9' },
  });
  const socket = { remoteAddress: '127.0.0.1', encrypted: fetched.url.startsWith('https:') };
  expect(reported({ headers: Object.fromEntries(fetched.headers), socket })).toEqual({
    address: '203.0.113.9',
    origin: { scheme: 'https', host: 'a.example', port: 443 },
  });
});
