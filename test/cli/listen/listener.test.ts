import { once } from 'node:events';
import type http from 'node:http';
import net from 'node:net';
import { expect, test } from 'vitest';
import {
  createListener,
  type Delivery,
  type ListenerOptions,
} from '../../../src/cli/listen/listener.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { sampleMessage } from '../../../src/testing/index.ts';
import { postSigned } from '../../helpers/http.ts';
import { listenOn } from '../../helpers/servers.ts';

test('drops a request that fails unexpectedly, and accepts the next one', async () => {
  // Without the other options every request fails.
  const server = createListener({ secrets: ['a'] } as unknown as ListenerOptions);
  const port = await listenOn(server);
  for (let count = 0; count < 2; count += 1) {
    const socket = net.connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n');
    socket.resume();
    const [hadError] = await once(socket, 'close');
    expect([hadError, socket.bytesRead]).toEqual([false, 0]);
  }
});

const SECRET = 'secret-of-the-test';
const BODY = JSON.stringify([sampleMessage()]);

/** Also returns each request's number, its status, and who decided it. */
async function listenerTo(forwardTo: () => URL, forwarder: string, host = '127.0.0.1') {
  const deliveries: unknown[] = [];
  const options: Omit<ListenerOptions, 'forwardTo'> = {
    secrets: [SECRET],
    delayMs: 0,
    name: forwarder,
    clock: systemClock,
    onDelivery: async ({ number, status, decidedBy }: Delivery) => {
      deliveries.push([number, status, decidedBy]);
    },
    onAnswered: () => {},
  };
  const server: http.Server = createListener({
    ...options,
    // Its port is known once it listens.
    get forwardTo() {
      return forwardTo();
    },
  });
  return { deliveries, port: await listenOn(server, host) };
}

test('a listener answers 508 to its own forwarded request, also by another name of the machine', async () => {
  const { deliveries, port } = await listenerTo(
    () => new URL(`http://127.0.0.2:${port}/`),
    'here',
    '0.0.0.0',
  );
  expect(await postSigned(`http://127.0.0.1:${port}/`, BODY, SECRET)).toMatchObject({
    status: 508,
  });
  expect(deliveries).toEqual([
    [2, 508, 'not forwarded: it came from here'],
    [1, 508, 'forwarded'],
  ]);
});

test('two listeners that forward to each other answer 508, also behind proxies', async () => {
  const there = await listenerTo(() => new URL(`http://127.0.0.1:${here.port}/`), 'there');
  const here = await listenerTo(() => new URL(`http://127.0.0.1:${there.port}/`), 'here');
  const url = `http://127.0.0.1:${here.port}/`;
  const answer = await postSigned(url, BODY, SECRET, { via: '1.0 a-proxy, 1.1 another' });
  expect(answer).toMatchObject({ status: 508 });
  expect([here.deliveries, there.deliveries]).toEqual([
    [
      [2, 508, 'not forwarded: it came from here'],
      [1, 508, 'forwarded'],
    ],
    [[1, 508, 'forwarded']],
  ]);
});

test('the oldest unfinished bodies are refused when all exceed 64 MiB', async () => {
  const { deliveries, port } = await listenerTo(() => new URL('http://127.0.0.1/'), 'here');
  const unfinished = Buffer.alloc(2 ** 21 - 1, 'x');
  const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${2 ** 21}\r\n\r\n`;
  const statuses: string[] = [];
  const sockets = Array.from({ length: 40 }, () => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {}).on('data', (data) => statuses.push(String(data).slice(9, 12)));
    socket.write(head);
    socket.write(unfinished);
    return socket;
  });
  await expect.poll(() => statuses.length).toBe(8);
  for (const socket of sockets) socket.destroy();
  expect(new Set(statuses)).toEqual(new Set(['503']));
  expect(deliveries.slice(0, 8).map((it) => (it as unknown[])[1])).toEqual(Array(8).fill(503));
});
