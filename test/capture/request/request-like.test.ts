import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:http2';
import { describe, expect, test } from 'vitest';
import {
  headerOf,
  peerOf,
  type RequestLike,
  readPort,
} from '../../../src/capture/request/request-like.ts';
import { listenOn } from '../../helpers/servers.ts';

const peerOfSocket = (socket: unknown) => peerOf({ headers: {}, socket });

describe('peerOf', () => {
  test.each<[unknown, ReturnType<typeof peerOf>]>([
    [
      { remoteAddress: '::1', remotePort: 4711, encrypted: true },
      { address: '::1', port: 4711, isEncrypted: true },
    ],
    [{}, { address: undefined, port: undefined, isEncrypted: false }],
    [
      { remoteAddress: 7, remotePort: 0, encrypted: 'yes' },
      { address: undefined, port: undefined, isEncrypted: false },
    ],
    [null, undefined],
    [undefined, undefined],
    ['10.0.0.1', undefined],
  ])('reads the socket %j as %j', (socket, peer) => {
    expect(peerOfSocket(socket)).toEqual(peer);
  });

  test('returns undefined if the socket throws', () => {
    const socket = {
      get remoteAddress(): string {
        throw new Error('ERR_HTTP2_SOCKET_UNBOUND');
      },
    };
    expect(peerOf({ headers: {}, socket })).toBeUndefined();
  });

  test('knows no address after the end of an HTTP/2 session', async () => {
    const server = createServer();
    const session = connect(`http://127.0.0.1:${await listenOn(server)}`);
    session.request({ ':path': '/' }).on('error', () => {});
    const [request] = (await once(server, 'request')) as [IncomingMessage & RequestLike];
    expect(peerOf(request)?.address).toBe('127.0.0.1');
    session.destroy();
    await once(request, 'close');
    expect(peerOf(request)?.address).toBeUndefined();
  });
});

describe('headerOf', () => {
  test.each<[unknown, string | undefined]>([
    ['a, b', 'a, b'],
    ['', ''],
    [['a', 'b, c'], 'a,b, c'],
    [['a', 7, 'b'], 'a,b'],
    [undefined, undefined],
    [null, undefined],
  ])('reads the value %j as %j', (value, expected) => {
    expect(headerOf({ headers: { name: value } } as RequestLike, 'name')).toBe(expected);
  });

  test.each([undefined, null, 'text'])('returns undefined if the headers are %j', (headers) => {
    expect(headerOf({ headers } as unknown as RequestLike, 'length')).toBeUndefined();
  });

  test('ignores inherited headers', () => {
    const headers = Object.create({ 'x-forwarded-for': '6.6.6.6' }) as RequestLike['headers'];
    expect(headerOf({ headers }, 'x-forwarded-for')).toBeUndefined();
  });
});

describe('ports', () => {
  test.each([
    ['1', 1],
    ['65535', 65_535],
    ['00080', 80],
    ['0', undefined],
    ['65536', undefined],
    ['000080', undefined],
    ['', undefined],
    ['_secret', undefined],
  ])('reads %j as %j', (text, port) => {
    expect(readPort(text)).toBe(port);
  });
});
