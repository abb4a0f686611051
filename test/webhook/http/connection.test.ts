import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { deferred } from '../../../src/runtime/deferred.ts';
import { createCertificate } from '../../../src/testing/index.ts';
import { createPoster, type Poster, type PosterOptions } from '../../../src/webhook/http/client.ts';
import { clockSince } from '../../helpers/clocks.ts';
import { watchSockets } from '../../helpers/guarded-agent.ts';
import {
  dripBody,
  dripHeaders,
  type Receiver,
  type ReceiverOptions,
  respond,
  type Step,
  startReceiver,
} from '../../helpers/receiver.ts';

function openPoster(options: Partial<PosterOptions> = {}): Poster {
  const poster = createPoster({ network: 'allow-private', clock: systemClock, ...options });
  onTestFinished(() => poster.close());
  return poster;
}

async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

const post = (poster: Poster, url: string, body = '[]') =>
  poster.post({ url: new URL(url), body: Buffer.from(body), headers: {} });

/** Answers the first request of a connection; the second's first byte is the end of it. */
async function startKiller(kill: (socket: net.Socket) => void) {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`;
  return { url, seen: () => ({ heads, killed }) };
}

/** Answers when it sees the head of a request, reads no body, and leaves the connection open. */
async function startHasty(status: number) {
  let connectionCount = 0;
  const server = net.createServer((socket) => {
    connectionCount += 1;
    socket.on('error', () => {});
    socket.once('readable', () => {
      socket.read(100);
      socket.write(`HTTP/1.1 ${status} Hasty\r\ncontent-length: 0\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`;
  return { url, connectionCount: () => connectionCount };
}

/** Writes `head`, then the same piece again and again as fast as it is read. */
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
  test('50 posts in a row take one', async () => {
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

  test('five URLs of one origin, one after another, take one', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    for (const path of ['/a', '/b', '/c?d=e', '/', '/a']) {
      await post(poster, new URL(path, receiver.url).href);
    }
    expect(receiver.requests.map(({ target }) => target)).toEqual([
      '/a',
      '/b',
      '/c?d=e',
      '/',
      '/a',
    ]);
    expect(receiver.connectionCount).toBe(1);
  });

  test('two origins share none, though they are one receiver', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    await post(poster, receiver.url);
    await post(poster, receiver.url.replace('127.0.0.1', 'localhost'));
    await post(poster, receiver.url);
    expect(receiver.requests.map(({ connection }) => connection)).toEqual([1, 2, 1]);
  });

  test('parallel posts open one connection each, and later posts reuse them', async () => {
    const receiver = await openReceiver({ script: [respond({ delayMs: 30 })] });
    const poster = openPoster();
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 12 }, () => post(poster, receiver.url)));
    }
    expect(receiver.requests).toHaveLength(36);
    expect(receiver.connectionCount).toBe(12);
  });

  test('no more are kept idle than may be', async () => {
    const receiver = await openReceiver({ script: [respond({ delayMs: 30 })] });
    const poster = openPoster({ maxIdleConnections: 2 });
    await Promise.all(Array.from({ length: 5 }, () => post(poster, receiver.url)));
    await vi.waitUntil(() => receiver.openConnectionCount === 2, 20_000);
    await Promise.all(Array.from({ length: 5 }, () => post(poster, receiver.url)));
    expect(receiver.connectionCount).toBe(8);
  });

  test('one that a receiver says it closes is not used again', async () => {
    const closing = respond({ headers: { connection: 'close' } });
    const receiver = await openReceiver({ script: [closing] });
    const poster = openPoster();
    for (let sends = 0; sends < 3; sends += 1) {
      expect(await post(poster, receiver.url)).toMatchObject({ reusedConnection: false });
    }
    expect(receiver.connectionCount).toBe(3);
  });
});

describe('a connection over which a large body was refused', () => {
  test.each([413, 400, 300])(
    'with %i is not used again: the rest may never be read',
    async (status) => {
      const { url, connectionCount } = await startHasty(status);
      const poster = openPoster({ deadlines: { headersMs: 5000 } });
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
    { what: 'a body that is read with its head', status: 413, bytes: 65_536 },
    { what: 'one that is taken', status: 299, bytes: 65_537 },
    { what: 'one that is taken', status: 200, bytes: 65_537 },
  ])('is used again after $bytes bytes and $status: $what', async ({ status, bytes }) => {
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
    ['4 s without a hint of the receiver', undefined, 4000],
    ['2 s less than its hint', 'timeout=3', 1000],
    ['longer where the hint is longer', 'timeout=7', 5000],
    ['almost a minute', 'timeout=61', 59_000],
    ['a minute and no more', 'timeout=600', 60_000],
  ])('is kept %s', async (_what, hint, expectedMs) => {
    const headers = hint === undefined ? {} : { connection: 'keep-alive', 'keep-alive': hint };
    const receiver = await openReceiver({ script: [respond({ headers })] });
    const poster = openPoster();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    await post(poster, receiver.url);
    const waits = timers.mock.calls.map(([, ms]) => ms);
    // The waits of the attempt itself: headers, all, connecting.
    expect(waits).toEqual([15_000, 20_000, 5000, expectedMs]);
    expect(await post(poster, receiver.url)).toMatchObject({ reusedConnection: true });
  });

  test('is ended when that time is over', async () => {
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

  test('is not kept where the hint leaves no time', async () => {
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=2' };
    const receiver = await openReceiver({ script: [respond({ headers })] });
    const poster = openPoster();
    await post(poster, receiver.url);
    await receiver.idle();
    expect(await post(poster, receiver.url)).toMatchObject({ reusedConnection: false });
  });
});

describe('a connection that dies when it is used again', () => {
  test.each<[string, (socket: net.Socket) => void]>([
    ['reset', (socket) => socket.resetAndDestroy()],
    ['an end', (socket) => socket.destroy()],
  ])(
    'by %s is one attempt that failed as reset, and nothing is sent again',
    async (_what, kill) => {
      const { url, seen } = await startKiller(kill);
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
    },
  );

  test('before anything is written is replaced, and the attempt tells the new one', async () => {
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
    ['a body in endless chunks of a byte', endless(CHUNKED, '1\r\nx\r\n'), OK],
    ['an endless length of a chunk', endless(CHUNKED, '0'), OK],
    ['an endless extension of a chunk', endless(`${CHUNKED}1;`, 'x'), OK],
    ['endless trailers', endless(`${CHUNKED}0\r\n`, 'a: b\r\n'), OK],
    [
      'endless bytes behind its end',
      endless('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 'x'),
      OK,
    ],
    [
      'a gzip bomb',
      respond({ headers: { 'content-encoding': 'gzip' }, body: Buffer.concat([bomb, bomb]) }),
      OK,
    ],
    ['an endless header', endless('HTTP/1.1 200 OK\r\nx: ', 'x'), PROTOCOL],
    ['endless headers', endless('HTTP/1.1 200 OK\r\n', 'a: b\r\n'), PROTOCOL],
    ['endless white space in a header', endless('HTTP/1.1 200 OK\r\nx:', ' '), PROTOCOL],
    ['an endless reason', endless('HTTP/1.1 200 ', 'x'), PROTOCOL],
    ['endless empty lines before it', endless('', '\r\n'), PROTOCOL],
    ['endless interim responses', endless('', 'HTTP/1.1 103 Early\r\n\r\n'), PROTOCOL],
  ])('with %s costs at most 64 KiB, and ends long before its deadline', async (...row) => {
    const [, step, expected] = row;
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    const receiver = await openReceiver({ script: [step] });
    const result = await post(openPoster({ deadlines: { totalMs: 10_000 } }), receiver.url);
    await receiver.idle();
    expect(result).toMatchObject(expected);
    expect(result.timings.totalMs).toBeLessThan(5000);
    expect(sockets.map(({ bytesRead }) => bytesRead <= 65_536)).toEqual([true]);
  });

  test.each<[string, Step, object]>([
    ['drips', dripBody(10), OK],
    ['drips its headers', dripHeaders(10), { code: 'deadline' }],
  ])('that %s ends at the deadline and costs next to nothing', async (_what, step, expected) => {
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    const receiver = await openReceiver({ script: [step] });
    const { promise: headers, resolve: onHeaders } = deferred();
    const clock = clockSince(() => (expected === OK ? headers : receiver.received(1)));
    const poster = openPoster({ deadlines: { totalMs: 150 }, clock });
    const url = new URL(receiver.url);
    const request = { url, body: Buffer.from('[]'), headers: {}, onHeaders };
    const result = await poster.post(request);
    await receiver.idle();
    expect(result).toMatchObject(expected);
    expect(result.timings.totalMs).toBeGreaterThan(145);
    expect(result.timings.totalMs).toBeLessThan(5000);
    expect(sockets.map(({ bytesRead }) => bytesRead < 1000)).toEqual([true]);
  });

  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const WITH_BODY =
    'HTTP/1.1 201 Created\r\ncontent-length: 25\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n';

  test.each<[string, readonly string[]]>([
    ['several', [CONTINUE, CONTINUE + CONTINUE, CONTINUE + WITH_BODY]],
    ['one among others', ['HTTP/1.1 103 Early Hints\r\n\r\n', CONTINUE + WITH_BODY]],
  ])('may have what nobody asked for before it, 100 (Continue): %s', async (_what, pieces) => {
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

  test('may have it over TLS, too', async () => {
    const certificate = createCertificate();
    const receiver = await openReceiver({
      tls: certificate,
      script: [({ write }) => write(CONTINUE + WITH_BODY)],
    });
    const tls = { ca: certificate.cert };
    const url = new URL(receiver.url);
    const request = { url, body: Buffer.from('[]'), headers: {}, tls };
    expect(await openPoster().post(request)).toMatchObject({ status: 201 });
  });

  test('that has its status within 64 KiB has that status, however large its headers', async () => {
    const headers = { 'x-padding': 'x'.repeat(30_000) };
    const receiver = await openReceiver({ script: [respond({ status: 201, headers })] });
    expect(await post(openPoster(), receiver.url)).toMatchObject({ status: 201 });
  });

  test('with endless headers costs little time', async () => {
    const receiver = await openReceiver({ script: [endless('HTTP/1.1 200 OK\r\n', 'a: b\r\n')] });
    const poster = openPoster();
    await post(poster, receiver.url);
    const before = process.cpuUsage();
    for (let sends = 0; sends < 5; sends += 1) await post(poster, receiver.url);
    const { user, system } = process.cpuUsage(before);
    // 5 times 30 ms; each further header made an error of undici's, it was 5 times 300.
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  test('may take as much on each request of a connection', async () => {
    const receiver = await openReceiver({
      script: [respond({ headers: { 'x-padding': 'x'.repeat(12_000) }, body: Buffer.alloc(8192) })],
    });
    const poster = openPoster();
    for (let sends = 0; sends < 9; sends += 1) {
      expect(await post(poster, receiver.url)).toMatchObject({ status: 200 });
    }
    expect(receiver.connectionCount).toBe(1);
  });

  test('without end over TLS costs no more', async () => {
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
