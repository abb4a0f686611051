/** Adapters over HTTP/2, in the hosts that support it. */
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
  type WebhookReceiver,
} from '../../src/receiver/index.ts';
import { getRequestListener } from '../helpers/hosts.ts';
import { listenOn } from '../helpers/servers.ts';
import { BODY, receiverOf, signedHeaders } from './receivers.ts';

const MAX_BODY_BYTES = 10_000;

const listenTo = (listener: unknown): Promise<number> =>
  listenOn(http2.createServer(listener as never));

const HOSTS: Readonly<Record<string, (receiver: WebhookReceiver) => Promise<number>>> = {
  'node:http2': (receiver) => listenTo(nodeHandler(receiver)),
  fastify: async (receiver) => {
    const app = fastify({ http2: true });
    await app.register(fastifyPlugin(receiver));
    await app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => app.close());
    return (app.server.address() as AddressInfo).port;
  },
};

const answerOf = async (stream: http2.ClientHttp2Stream) => {
  const [head] = (await once(stream, 'response')) as [Record<string, number>];
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  return [head[':status'], text];
};

function connectedTo(port: number) {
  const client = http2.connect(`http://127.0.0.1:${port}`);
  client.on('error', () => {});
  // Before the server is closed, which waits for it.
  onTestFinished(() => client.destroy());
  const begin = (headers: Record<string, string> = {}): http2.ClientHttp2Stream => {
    const stream = client.request({
      ':method': 'POST',
      'content-type': 'application/json',
      ...headers,
    });
    return stream.on('error', () => {});
  };
  const ask = (body: string) => {
    const stream = begin(signedHeaders(body));
    stream.end(body);
    return answerOf(stream);
  };
  return { begin, ask };
}

const startHono = (receiver: WebhookReceiver) =>
  listenTo(getRequestListener(fetchHandler(receiver)));

describe.each([...Object.entries(HOSTS), ['hono', startHono]] as const)(
  'over HTTP/2 on %s',
  (_host, start) => {
    test('accepts a request, and refuses a large one, without a header that HTTP/2 forbids', async () => {
      const warnings: string[] = [];
      const onWarning = ({ message }: Error): void => void warnings.push(message);
      process.on('warning', onWarning);
      onTestFinished(() => void process.off('warning', onWarning));
      const { receiver, handled } = receiverOf({
        answer: 'received',
        maxBodyBytes: MAX_BODY_BYTES,
      });
      const { ask } = connectedTo(await start(receiver));
      expect(await ask(BODY)).toEqual([204, '']);
      const large = JSON.stringify('x'.repeat(2 * MAX_BODY_BYTES));
      expect(await ask(large)).toEqual([413, 'body-too-large\n']);
      await receiver.idle();
      expect(handled).toEqual(['a']);
      expect(warnings).toEqual([]);
    });
  },
);

describe.each(Object.entries(HOSTS))('over HTTP/2 on %s', (_host, start) => {
  test('refuses a missing signature before the body was sent', async () => {
    const { begin, ask } = connectedTo(await start(receiverOf().receiver));
    const stream = begin({ 'content-length': '100' });
    stream.write('[');
    expect(await answerOf(stream)).toEqual([401, 'signature-missing\n']);
    expect(await ask(BODY)).toEqual([204, '']);
  });

  test('reports a sender that leaves during its body as incomplete', async () => {
    const { receiver, handled, reasons } = receiverOf();
    const { begin, ask } = connectedTo(await start(receiver));
    const stream = begin(signedHeaders());
    stream.write(BODY.slice(0, 10));
    // The bytes have arrived when this is answered.
    expect(await ask(BODY)).toEqual([204, '']);
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await expect.poll(reasons).toEqual(['incomplete']);
    await receiver.idle();
    expect(handled).toEqual(['a']);
  });
});
