/** What each fault does on the wire, seen from a bare socket. */
import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createCertificate,
  type Receiver,
  type ReceiverOptions,
  type Step,
  startReceiver,
} from '../../src/testing/index.ts';

const BODY = '[{"message_id":"m"}]';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function open(options: ReceiverOptions): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

/** A connection that records received bytes. */
class Wire {
  readonly socket: net.Socket;
  bytes = Buffer.alloc(0);
  /** `ECONNRESET` after a reset, `FIN` after a proper end. */
  end: string | undefined;
  readonly #changes = new EventEmitter();

  constructor(receiver: Receiver) {
    this.socket = net.connect(Number(new URL(receiver.url).port), '127.0.0.1');
    this.socket.on('data', (chunk: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, chunk]);
      this.#changes.emit('change');
    });
    this.socket.on('end', () => {
      this.end ??= 'FIN';
      this.#changes.emit('change');
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.end ??= error.code;
      this.#changes.emit('change');
    });
    onTestFinished(() => void this.socket.destroy());
  }

  get text(): string {
    return this.bytes.toString('latin1');
  }

  send(body: string, announced = body.length): void {
    this.socket.write(
      `POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: ${announced}\r\n\r\n${body}`,
    );
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await once(this.#changes, 'change');
  }
}

/** Opens a connection and sends one request. */
async function wireAfter(step: Step): Promise<{ wire: Wire; receiver: Receiver }> {
  const receiver = await open({ otherwise: step });
  const wire = new Wire(receiver);
  wire.send(BODY);
  return { wire, receiver };
}

function blockEventLoop(ms: number): void {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt);
}

const isOver = (wire: Wire) => () => wire.end !== undefined;
const has = (wire: Wire, text: string) => () => wire.text.includes(text);
const taken = (receiver: Receiver): [string, number][] => [...receiver.acceptedCounts()];

const send = async (receiver: Receiver, ca: string | undefined): Promise<number | string> => {
  const dispatcher = new Agent({ connect: ca === undefined ? {} : { ca } });
  onTestFinished(() => dispatcher.destroy());
  try {
    const answer = await request(receiver.url, { method: 'POST', body: BODY, dispatcher });
    await answer.body.dump();
    return answer.statusCode;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
};

describe('connection faults', () => {
  test('reset-on-connect: resets the connection before it reads anything', async () => {
    const receiver = await open({ script: [{ fault: 'reset-on-connect' }, { status: 204 }] });
    const wire = new Wire(receiver);
    await wire.until(isOver(wire));
    expect([wire.end, wire.text]).toEqual(['ECONNRESET', '']);
    expect(receiver.requests).toEqual([]);
    const next = new Wire(receiver);
    next.send(BODY);
    await next.until(has(next, '204'));
    expect([receiver.connectionCount, receiver.requests.length]).toEqual([2, 1]);
  });

  test('reset-on-connect: resets an open connection at the next request', async () => {
    const receiver = await open({ script: [{ status: 200 }, { fault: 'reset-on-connect' }] });
    const wire = new Wire(receiver);
    wire.send(BODY);
    await wire.until(has(wire, '\r\n\r\n'));
    wire.send(BODY);
    await wire.until(isOver(wire));
    expect([wire.end, receiver.connectionCount]).toEqual(['ECONNRESET', 1]);
    expect(taken(receiver)).toEqual([['m', 1]]);
  });

  test('slow-tls: delays the handshake; the request takes the next step', async () => {
    const receiver = await open({
      tls: 'self-signed',
      script: [{ fault: 'slow-tls', delayMs: 80 }, { status: 202 }],
    });
    const startedAt = performance.now();
    expect(await send(receiver, receiver.certificate)).toBe(202);
    expect(performance.now() - startedAt).toBeGreaterThan(78);
  });

  test('slow-tls: is 200 on an open connection', async () => {
    const receiver = await open({
      script: [{ status: 204 }, { fault: 'slow-tls', delayMs: 3_600_000 }],
    });
    const wire = new Wire(receiver);
    wire.send(BODY);
    await wire.until(has(wire, '204'));
    wire.send(BODY);
    await wire.until(has(wire, '200 OK'));
    expect(receiver.connectionCount).toBe(1);
  });
});

describe('reading faults', () => {
  test('reset-during-body: resets while the body is being sent', async () => {
    const receiver = await open({ otherwise: { fault: 'reset-during-body', afterBytes: 5 } });
    const wire = new Wire(receiver);
    wire.send('1234', 100);
    // Not before the fifth byte: four bytes have arrived, and the connection is open.
    await pause(20);
    expect([receiver.requests.length, wire.end]).toEqual([0, undefined]);
    wire.socket.write('5');
    await wire.until(isOver(wire));
    expect([wire.end, wire.text]).toEqual(['ECONNRESET', '']);
    expect(receiver.requests).toMatchObject([
      { body: Buffer.from('12345'), signatureOk: undefined },
    ]);
  });

  test('reset-during-body: resets at the first byte by default', async () => {
    const receiver = await open({ otherwise: { fault: 'reset-during-body' }, secret: 's' });
    const wire = new Wire(receiver);
    wire.send('1', 100);
    await wire.until(isOver(wire));
    expect(receiver.requests).toMatchObject([{ body: Buffer.from('1'), signatureOk: undefined }]);
  });

  test.each([
    [20, {}, '200 OK', 20],
    [19, {}, '413 Payload Too Large', 0],
    [19, { status: 403 }, '403 Forbidden', 0],
  ])('body-limit: %i bytes, %j, are answered %s', async (maxBytes, status, answer, read) => {
    const { wire, receiver } = await wireAfter({ fault: 'body-limit', maxBytes, ...status });
    await wire.until(has(wire, '\r\n\r\n'));
    expect(wire.text).toContain(`HTTP/1.1 ${answer}\r\n`);
    expect(receiver.requests.map(({ body }) => body.length)).toEqual([read]);
    expect(taken(receiver)).toEqual(read === 20 ? [['m', 1]] : []);
  });

  test('body-limit: answers early, reads the rest, and closes the connection', async () => {
    const receiver = await open({ otherwise: { fault: 'body-limit', maxBytes: 1000 } });
    const wire = new Wire(receiver);
    wire.send('x', 2_000_001);
    await wire.until(has(wire, '\r\n\r\n'));
    expect(wire.text).toMatch(/^HTTP\/1\.1 413 .*connection: close/is);
    for (let sent = 0; sent < 20; sent += 1) wire.socket.write('x'.repeat(100_000));
    await wire.until(isOver(wire));
    expect(wire.end).toBe('FIN');
  });

  test('body-limit: counts a body without a length', async () => {
    const receiver = await open({ otherwise: { fault: 'body-limit', maxBytes: 10 } });
    const wire = new Wire(receiver);
    wire.socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    wire.socket.write('a\r\n0123456789\r\n');
    await pause(20);
    expect(wire.text).toBe('');
    wire.socket.write('1\r\nx\r\n');
    await wire.until(has(wire, '413'));
    expect(receiver.requests.map(({ body }) => body.length)).toEqual([11]);
  });

  test('faults that a function returns apply after the body was read', async () => {
    const receiver = await open({
      script: ({ index }) =>
        index < 2
          ? { fault: 'body-limit', maxBytes: 20 - index, status: 500 }
          : { fault: 'reset-during-body' },
    });
    const wire = new Wire(receiver);
    wire.send(BODY);
    await wire.until(has(wire, '200 OK'));
    wire.send(BODY);
    await wire.until(isOver(wire));
    expect(wire.text).toContain('HTTP/1.1 500 Internal Server Error\r\n');
    const next = new Wire(receiver);
    next.send(BODY);
    await next.until(isOver(next));
    expect([next.end, next.text]).toEqual(['ECONNRESET', '']);
  });
});

describe('answer faults', () => {
  test('hang: neither answers nor closes the connection', async () => {
    const { wire, receiver } = await wireAfter({ fault: 'hang' });
    await receiver.waitForRequests(1);
    await pause(30);
    expect([wire.text, wire.end]).toEqual(['', undefined]);
    expect(taken(receiver)).toEqual([]);
  });

  test.each([
    [{}, '200 OK', 1],
    [{ status: 500 }, '500 Internal Server Error', 0],
  ])('hang-after-headers: with %j', async (status, line, count) => {
    const { wire, receiver } = await wireAfter({ fault: 'hang-after-headers', ...status });
    await wire.until(has(wire, '\r\n\r\n'));
    await pause(20);
    expect(wire.text).toMatch(new RegExp(`^HTTP/1\\.1 ${line}\r\ncontent-length: 100000\r\n`, 'i'));
    expect([wire.text.endsWith('\r\n\r\n'), wire.end]).toEqual([true, undefined]);
    expect(taken(receiver)).toHaveLength(count);
  });

  test('reset-before-response: resets after the request was read', async () => {
    const { wire, receiver } = await wireAfter({ fault: 'reset-before-response' });
    await wire.until(isOver(wire));
    expect([wire.end, wire.text]).toEqual(['ECONNRESET', '']);
    expect(receiver.requests).toHaveLength(1);
    expect(taken(receiver)).toEqual([]);
  });

  test.each([0, 40])(
    'reset-after-headers: resets during the response, after a pause of %i ms',
    async (ms) => {
      const { wire, receiver } = await wireAfter({ fault: 'reset-after-headers', status: 201 });
      await receiver.waitForRequests(1);
      blockEventLoop(ms);
      await wire.until(isOver(wire));
      expect(wire.text).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
      expect(wire.text.endsWith('\r\n\r\nx')).toBe(true);
      expect(wire.end).toBe('ECONNRESET');
      expect(taken(receiver)).toEqual([['m', 1]]);
    },
  );

  test('drip: headers, then a byte at a time', async () => {
    const { wire } = await wireAfter({ fault: 'drip', everyMs: 15, status: 202 });
    const startedAt = performance.now();
    await wire.until(has(wire, '\r\n\r\nxxxx'));
    expect(wire.text).toMatch(/^HTTP\/1\.1 202 Accepted\r\n/);
    expect(performance.now() - startedAt).toBeGreaterThan(45);
  });

  test('endless-body: never ends the body', async () => {
    const { wire, receiver } = await wireAfter({ fault: 'endless-body' });
    await wire.until(() => wire.bytes.length > 1_000_000);
    expect(wire.text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*transfer-encoding: chunked\r\n/is);
    expect(taken(receiver)).toEqual([['m', 1]]);
  });

  test('endless-headers: never ends the headers', async () => {
    const { wire } = await wireAfter({ fault: 'endless-headers', status: 500 });
    await wire.until(() => wire.bytes.length > 1_000_000);
    expect(wire.text).toMatch(/^HTTP\/1\.1 500 Endless\r\nx-endless: x{1000}\r\nx-endless: /);
    expect(wire.text).not.toContain('\r\n\r\n');
  });

  test('interim-flood: sends only informational responses', async () => {
    const { wire, receiver } = await wireAfter({ fault: 'interim-flood', everyMs: 1 });
    await wire.until(() => wire.text.split('HTTP/1.1 103 Early Hints\r\n').length > 5);
    expect(wire.text).not.toMatch(/HTTP\/1\.1 [2-5]/);
    expect(taken(receiver)).toEqual([]);
  });

  test('gzip-bomb: sends a small body that inflates to a large one', async () => {
    const { wire } = await wireAfter({ fault: 'gzip-bomb', inflatedBytes: 3_000_000 });
    await wire.until(has(wire, '\r\n\r\n'));
    const bodyAt = wire.bytes.indexOf('\r\n\r\n') + 4;
    const length = Number(/content-length: (\d+)/i.exec(wire.text)?.[1]);
    expect(length).toBeLessThan(10_000);
    await wire.until(() => wire.bytes.length >= bodyAt + length);
    expect(wire.text).toMatch(/content-encoding: gzip/i);
    const inflated = gunzipSync(wire.bytes.subarray(bodyAt));
    expect(inflated.equals(Buffer.alloc(3 * 1024 * 1024))).toBe(true);
  });

  test.each([
    [{}, '307 Temporary Redirect'],
    [{ status: 302 }, '302 Found'],
  ])('redirect-loop: redirects to itself, %j', async (status, line) => {
    const { wire, receiver } = await wireAfter({ fault: 'redirect-loop', ...status });
    await wire.until(has(wire, '\r\n\r\n'));
    expect(wire.text).toContain(`HTTP/1.1 ${line}\r\n`);
    expect(wire.text).toContain(`location: ${receiver.url}\r\n`);
    expect(taken(receiver)).toEqual([]);
  });

  test('not-http: speaks another protocol, and closes', async () => {
    const { wire } = await wireAfter({ fault: 'not-http' });
    await wire.until(isOver(wire));
    expect([wire.text, wire.end]).toEqual(['SSH-2.0-OpenSSH_9.9\r\n', 'FIN']);
  });

  test.each([{}, { afterMs: 30 }])('close-idle: answers 200, then closes: %j', async (after) => {
    const startedAt = performance.now();
    const { wire, receiver } = await wireAfter({ fault: 'close-idle', ...after });
    await wire.until(isOver(wire));
    expect(wire.end).toBe('FIN');
    expect(wire.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(wire.text).not.toMatch(/connection: close/i);
    expect(performance.now() - startedAt).toBeGreaterThan((after.afterMs ?? 0) - 2);
    expect(taken(receiver)).toEqual([['m', 1]]);
  });
});

describe('certificates', () => {
  test.each([
    ['self-signed', 200],
    ['wrong-host', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['expired', 'CERT_HAS_EXPIRED'],
  ] as const)('%s: a client that trusts it gets %s', async (kind, outcome) => {
    const receiver = await open({ tls: kind });
    expect(receiver.url).toMatch(/^https:/);
    expect(await send(receiver, receiver.certificate)).toBe(outcome);
    expect(receiver.requests).toHaveLength(outcome === 200 ? 1 : 0);
  });

  test('can be given, with options of Node’s TLS server', async () => {
    const certificate = createCertificate();
    const receiver = await open({ tls: { ...certificate, maxVersion: 'TLSv1.2' } });
    expect(receiver.certificate).toBe(certificate.cert);
    const socket = tls.connect({
      port: Number(new URL(receiver.url).port),
      host: '127.0.0.1',
      ca: certificate.cert,
    });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    expect(socket.getProtocol()).toBe('TLSv1.2');
  });
});
