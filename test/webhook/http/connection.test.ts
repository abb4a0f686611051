import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { errors } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createCertificate } from '../../../src/testing/index.ts';
import type { Poster } from '../../../src/webhook/http/client.ts';
import { watchSockets } from '../../helpers/guarded-agent.ts';
import { openPoster, openReceiver, requestTo } from '../../helpers/poster.ts';
import { respond, type Step } from '../../helpers/receiver.ts';
import { listenOn } from '../../helpers/servers.ts';

const post = (poster: Poster, url: string, body = '[]') =>
  poster.post(requestTo(url, { body: Buffer.from(body) }));

/** Answers the first request of a connection and kills the connection at the first byte of the second. */
async function startKillingServer(kill: (socket: net.Socket) => void) {
  let heads = 0;
  let killed = 0;
  const server = net.createServer((socket) => {
    let isSecond = false;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      heads += chunk.includes('POST ') ? 1 : 0;
      if (isSecond) {
        killed += 1;
        kill(socket);
        return;
      }
      isSecond = true;
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
  });
  const url = `http://127.0.0.1:${await listenOn(server)}/`;
  return { url, seen: () => ({ heads, killed }) };
}

/** Answers at the head of a request, does not read the body, and leaves the connection open. */
async function startEarlyResponder(status: number) {
  let connectionCount = 0;
  const server = net.createServer((socket) => {
    connectionCount += 1;
    socket.on('error', () => {});
    socket.once('readable', () => {
      socket.read(100);
      socket.write(`HTTP/1.1 ${status} Hasty\r\ncontent-length: 0\r\n\r\n`);
    });
  });
  const url = `http://127.0.0.1:${await listenOn(server)}/`;
  return { url, connectionCount: () => connectionCount };
}

/** Writes `head`, then the same piece endlessly as fast as it is read. */
const endless =
  (head: string, piece: string): Step =>
  ({ socket, write }) => {
    const bytes = Buffer.from(piece.repeat(Math.ceil(16_384 / piece.length)));
    const pour = (): void => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on('drain', pour);
    write(head);
    pour();
  };

describe('connections', () => {
  test('are reused: 50 sequential posts need one', async () => {
    const receiver = await openReceiver({ script: [respond({ body: 'ok' })] });
    const poster = openPoster();
    const reused: (boolean | undefined)[] = [];
    for (let sends = 0; sends < 50; sends += 1) {
      reused.push((await post(poster, receiver.url)).reusedConnection);
    }
    expect(receiver.connectionCount).toBe(1);
    expect(receiver.requests).toHaveLength(50);
    expect(reused).toEqual([false, ...Array.from({ length: 49 }, () => true)]);
  });

  test('are not shared between two origins of one receiver', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    await post(poster, receiver.url);
    await post(poster, receiver.url.replace('127.0.0.1', 'localhost'));
    await post(poster, receiver.url);
    expect(receiver.requests.map(({ connection }) => connection)).toEqual([1, 2, 1]);
  });
});

describe('a connection on which a large body was refused', () => {
  test.each([413, 300])(
    'with %i is not reused, because the rest may never be read',
    async (status) => {
      const { url, connectionCount } = await startEarlyResponder(status);
      const poster = openPoster({ deadlines: { headersMs: 15_000 } });
      for (let sends = 0; sends < 2; sends += 1) {
        expect(await post(poster, url, 'x'.repeat(65_537))).toMatchObject({
          status,
          reusedConnection: false,
        });
      }
      expect(connectionCount()).toBe(2);
    },
  );

  test.each([
    { what: 'a small body', status: 413, bytes: 65_536 },
    { what: 'an accepted body', status: 299, bytes: 65_537 },
  ])('is reused after $bytes bytes and $status: $what', async ({ status, bytes }) => {
    const receiver = await openReceiver({ script: [respond({ status })] });
    const poster = openPoster();
    const ends = [
      await post(poster, receiver.url, 'x'.repeat(bytes)),
      await post(poster, receiver.url),
    ];
    expect(ends.map(({ reusedConnection }) => reusedConnection)).toEqual([false, true]);
  });
});

describe('an idle connection', () => {
  test.each([
    ['4 s without a Keep-Alive header', undefined, 4000],
    ['2 s less than the header says', 'timeout=3', 1000],
    ['at most a minute', 'timeout=600', 60_000],
  ])('is kept %s', async (_what, hint, expectedMs) => {
    const headers = hint === undefined ? {} : { connection: 'keep-alive', 'keep-alive': hint };
    const receiver = await openReceiver({ script: [respond({ headers })] });
    const poster = openPoster();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    await post(poster, receiver.url);
    const waits = timers.mock.calls.map(([, ms]) => ms);
    // Only undici's: the attempt does not use the global timers.
    expect(waits).toEqual([expectedMs]);
    expect(await post(poster, receiver.url)).toMatchObject({ reusedConnection: true });
  });

  test('is closed after its time', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    const { setTimeout: later } = globalThis;
    const timers = vi
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation((work, ms, ...given) => later(work, ms === 4000 ? 1 : ms, ...given));
    onTestFinished(() => timers.mockRestore());
    await post(poster, receiver.url);
    await receiver.idle();
    expect(receiver.openConnectionCount).toBe(0);
    expect(await post(poster, receiver.url)).toMatchObject({ reusedConnection: false });
  });
});

describe('a connection that dies when it is reused', () => {
  test.each<[string, (socket: net.Socket) => void]>([
    ['reset', (socket) => socket.resetAndDestroy()],
    ['an end', (socket) => socket.destroy()],
  ])('by %s fails the attempt as reset, and nothing is resent', async (_what, kill) => {
    const { url, seen } = await startKillingServer(kill);
    const poster = openPoster();
    expect(await post(poster, url)).toMatchObject({ status: 200, reusedConnection: false });
    expect(await post(poster, url)).toMatchObject({
      kind: 'failure',
      code: 'connection-reset',
      reusedConnection: true,
    });
    await systemClock.sleep(50);
    expect(seen()).toEqual({ heads: 2, killed: 1 });
    expect(await post(poster, url)).toMatchObject({ status: 200, reusedConnection: false });
    expect(seen()).toEqual({ heads: 3, killed: 1 });
  });

  test('is replaced before the request is written, and the attempt reports the new one', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    await post(poster, receiver.url);
    receiver.closeConnections();
    const result = await post(poster, receiver.url);
    expect(result).toMatchObject({ status: 200, reusedConnection: false });
    expect(Object.keys(result.timings)).toEqual(['tcpMs', 'firstByteMs', 'totalMs']);
    expect(receiver.requests.map(({ connection }) => connection)).toEqual([1, 2]);
    expect(await post(poster, receiver.url)).toMatchObject({ reusedConnection: true });
  });
});

describe('a response', () => {
  const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const OK = { kind: 'response', status: 200 };
  const PROTOCOL = { kind: 'failure', code: 'protocol' };
  const bomb = gzipSync(Buffer.alloc(10_000_000));

  test.each<[string, Step, object]>([
    ['an endless body', endless(CHUNKED, `4000\r\n${'x'.repeat(0x4000)}\r\n`), OK],
    ['an endless extension of a chunk', endless(`${CHUNKED}1;`, 'x'), OK],
    ['endless trailers', endless(`${CHUNKED}0\r\n`, 'a: b\r\n'), OK],
    ['endless bytes after it', endless('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 'x'), OK],
    [
      'a gzip bomb',
      respond({ headers: { 'content-encoding': 'gzip' }, body: Buffer.concat([bomb, bomb]) }),
      OK,
    ],
    ['an endless header', endless('HTTP/1.1 200 OK\r\nx: ', 'x'), PROTOCOL],
    ['endless empty lines before it', endless('', '\r\n'), PROTOCOL],
    ['endless interim responses', endless('', 'HTTP/1.1 103 Early\r\n\r\n'), PROTOCOL],
  ])('with %s is read up to 64 KiB, and ends long before its deadline', async (...row) => {
    const [, step, expected] = row;
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    const receiver = await openReceiver({ script: [step] });
    const result = await post(openPoster({ deadlines: { totalMs: 60_000 } }), receiver.url);
    await receiver.idle();
    expect(result).toMatchObject(expected);
    expect(result.timings.totalMs).toBeLessThan(20_000);
    expect(sockets.map(({ bytesRead }) => bytesRead <= 65_536)).toEqual([true]);
  });

  test('may follow unrequested 100 (Continue) responses', async () => {
    const pieces = [
      'HTTP/1.1 103 Early Hints\r\n\r\n',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 25\r\n\r\n',
      'HTTP/1.1 100 Continue\r\n\r\n',
    ];
    const step: Step = ({ write, after }) => {
      for (const [index, piece] of pieces.entries()) after(index * 10, () => write(piece));
    };
    const receiver = await openReceiver({ script: [step] });
    const poster = openPoster();
    const ends = [await post(poster, receiver.url), await post(poster, receiver.url)];
    expect(ends).toMatchObject([
      { status: 201, reusedConnection: false },
      { status: 201, reusedConnection: true },
    ]);
  });

  test('keeps its status if its headers end within 64 KiB', async () => {
    const headers = { 'x-padding': 'x'.repeat(30_000) };
    const receiver = await openReceiver({ script: [respond({ status: 201, headers })] });
    expect(await post(openPoster(), receiver.url)).toMatchObject({ status: 201 });
  });

  test('with endless headers costs little CPU time', async () => {
    const receiver = await openReceiver({ script: [endless('HTTP/1.1 200 OK\r\n', 'a: b\r\n')] });
    const poster = openPoster();
    await post(poster, receiver.url);
    const overflowed = vi.fn<() => void>();
    const { prototype } = errors.HeadersOverflowError;
    Object.defineProperty(prototype, 'code', { set: overflowed, configurable: true });
    onTestFinished(() => void Reflect.deleteProperty(prototype, 'code'));
    const before = process.cpuUsage();
    for (let sends = 0; sends < 5; sends += 1) await post(poster, receiver.url);
    const { user, system } = process.cpuUsage(before);
    // undici creates an error for each header beyond its own limit. That took 5 × 300 ms instead of about 5 × 30.
    expect(overflowed).not.toHaveBeenCalled();
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  test('may use the full limit on each request of a connection', async () => {
    const receiver = await openReceiver({
      script: [respond({ headers: { 'x-padding': 'x'.repeat(12_000) }, body: Buffer.alloc(8192) })],
    });
    const poster = openPoster();
    for (let sends = 0; sends < 9; sends += 1) {
      expect(await post(poster, receiver.url)).toMatchObject({ status: 200 });
    }
    expect(receiver.connectionCount).toBe(1);
  });

  test('without end is read no further over TLS', async () => {
    const certificate = createCertificate();
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    const receiver = await openReceiver({
      tls: certificate,
      script: [endless(`${CHUNKED}1;`, 'x')],
    });
    const result = await openPoster({ deadlines: { totalMs: 10_000 } }).post({
      url: new URL(receiver.url),
      body: Buffer.from('[]'),
      headers: {},
      tls: { ca: certificate.cert },
    });
    await receiver.idle();
    expect(result).toMatchObject(OK);
    expect(sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBeLessThan(140_000);
  });
});
