/** Senders that leave before the response, and requests that the host has answered, on Node's servers. */
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { nodeHandler } from '../../src/receiver/index.ts';
import {
  type NodeRequestLike,
  type NodeResponseLike,
  writeAnswer,
} from '../../src/receiver/node-handler.ts';
import { deferred } from '../helpers/promises.ts';
import { listenOn } from '../helpers/servers.ts';
import {
  BODY,
  headOf,
  receiverOf,
  requestOf,
  SECRET,
  signedHeaders,
  signedInit,
} from './receivers.ts';

type Listener = (request: NodeRequestLike, response: NodeResponseLike) => void;
type Closing = NodeResponseLike & { once(event: 'close', listener: () => void): unknown };

/** Sends a whole body, and returns a function that makes the sender leave. */
type Leaving = (port: number) => () => void;

const leaveHttp: Leaving = (port) => {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const headers = { ...signedHeaders(), 'content-length': Buffer.byteLength(BODY) };
  socket.write(headOf('/', headers) + BODY);
  return () => socket.resetAndDestroy();
};

const leaveHttp2: Leaving = (port) => {
  const client = http2.connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => client.destroy());
  client.on('error', () => {});
  const stream = client.request({ ':method': 'POST', ...signedHeaders() });
  stream.on('error', () => {});
  stream.end(BODY);
  return () => stream.close(http2.constants.NGHTTP2_CANCEL);
};

const HOSTS = [
  ['HTTP/1', (listener: Listener) => http.createServer(listener), leaveHttp],
  ['HTTP/2', (listener: Listener) => http2.createServer(listener), leaveHttp2],
] as const;

/** Records writes to a response. */
function watched(response: NodeResponseLike, written: unknown[]): NodeResponseLike {
  return new Proxy(response, {
    set: (_target, name) => written.push(name) > 0,
    get: (target, name) => {
      if (name === 'end' || name === 'setHeader') written.push(name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test.each(HOSTS)(
  'handles the messages of a sender on %s that left after its body',
  async (_host, serve, leave) => {
    const [asked, closed, handled] = [deferred(), deferred(), deferred()];
    const { receiver } = receiverOf({
      answer: 'received',
      maxHandlingBytes: 1,
      duplicates: false,
      onMessages: () => handled.resolve(),
    });
    const handle = nodeHandler({
      idle: () => receiver.idle(),
      // Between the body and the answer.
      receive: async (request) => {
        const answer = await receiver.receive(request);
        asked.resolve();
        await closed.promise;
        return answer;
      },
    });
    const written: unknown[] = [];
    const port = await listenOn(
      serve((request, response) => {
        (response as Closing).once('close', closed.resolve);
        handle(request, watched(response, written));
      }),
    );
    const goAway = leave(port);
    await asked.promise;
    goAway();
    await handled.promise;
    await receiver.idle();
    expect(written).toEqual([]);
    expect((await receiver.receive(requestOf())).status).toBe(204);
  },
);

test.each(HOSTS)(
  'reports a sender on %s that left before its body was read',
  async (_host, serve, leave) => {
    const [asked, closed, secret] = [deferred(), deferred(), deferred()];
    const written: unknown[] = [];
    const { receiver, handled, reasons } = receiverOf({
      secret: async () => {
        asked.resolve();
        await secret.promise;
        return SECRET;
      },
    });
    const handle = nodeHandler(receiver);
    const port = await listenOn(
      serve((request, response) => {
        (response as Closing).once('close', closed.resolve);
        handle(request, watched(response, written));
      }),
    );
    const goAway = leave(port);
    await asked.promise;
    goAway();
    await closed.promise;
    secret.resolve();
    await expect.poll(reasons).toEqual(['incomplete']);
    await new Promise(setImmediate);
    expect([handled, written]).toEqual([[], []]);
  },
);

const REFUSED = { status: 400, headers: { 'x-reason': 'a' }, text: 'reason' };

test('does not answer a request twice', async () => {
  const outcomes: unknown[] = [];
  const server = http.createServer((_request, response) => {
    response.writeHead(503).end('too slow');
    outcomes.push(writeAnswer(response, REFUSED));
  });
  const answer = await fetch(`http://127.0.0.1:${await listenOn(server)}/`);
  expect([answer.status, await answer.text()]).toEqual([503, 'too slow']);
  expect(outcomes).toEqual([undefined]);
});

test('shares the body with other listeners', async () => {
  const { receiver } = receiverOf();
  const heard: Buffer[] = [];
  const server = http.createServer((request, response) => {
    nodeHandler(receiver)(request, response);
    request.on('data', (chunk: Buffer) => heard.push(chunk));
  });
  const answer = await fetch(`http://127.0.0.1:${await listenOn(server)}/`, signedInit());
  expect([answer.status, Buffer.concat(heard).toString()]).toEqual([204, BODY]);
});
