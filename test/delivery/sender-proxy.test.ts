/** Through undici's own agents, on real sockets: a proxy of the host's (D77 `'delegated'`). */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ProxyAgent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { batches, ids, messages, openReceiver, senderTo } from '../helpers/sender.ts';

/** Answers CONNECT with a tunnel. `tunnels` are the hosts that it was asked to connect to. */
async function openProxy() {
  const tunnels: string[] = [];
  const server: Server = createServer();
  server.on('connect', (request: IncomingMessage, client) => {
    tunnels.push(request.url ?? '');
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    target.on('error', () => client.destroy());
    client.on('error', () => target.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, tunnels };
}

test('a sender through the proxy of its host delivers what it signed, through the tunnel alone', async () => {
  const receiver = await openReceiver();
  const proxy = await openProxy();
  const dispatcher = new ProxyAgent({ uri: proxy.url });
  onTestFinished(() => dispatcher.destroy());
  const sender = senderTo(receiver, { network: 'delegated', dispatcher });
  await sender.send(messages(3));
  expect(await sender.flush()).toMatchObject({ delivered: 3, pending: 0 });
  expect(batches(receiver)).toEqual([ids(3)]);
  expect(receiver.requests.map(({ signatureOk }) => signatureOk)).toEqual([true]);
  expect(proxy.tunnels).toEqual([new URL(receiver.url).host]);
  await sender.close();
  // The agent is the host's, who may have other uses for it.
  const other = senderTo(receiver, { network: 'delegated', dispatcher });
  await other.send(messages(1));
  expect(await other.flush()).toMatchObject({ delivered: 1, pending: 0 });
});
