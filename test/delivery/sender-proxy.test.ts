/** Through undici's own agents, on real sockets: a proxy of the host's (D77 `'delegated'`). */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ProxyAgent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../src/testing/index.ts';
import { batches, ids, listen, messages, openReceiver, senderTo } from '../helpers/sender.ts';

interface Proxy {
  readonly url: string;
  /** What it was asked to connect to, in turn. */
  readonly tunnels: string[];
}

/** Answers CONNECT with a tunnel, or with the status that `refusal` gives for the n-th. */
async function openProxy(refusal: (nth: number) => number | undefined = () => undefined) {
  const tunnels: string[] = [];
  const server: Server = createServer();
  server.on('connect', (request: IncomingMessage, client) => {
    tunnels.push(request.url ?? '');
    const status = refusal(tunnels.length);
    if (status !== undefined) {
      client.end(`HTTP/1.1 ${status} no\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
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
  const proxy: Proxy = { url: `http://127.0.0.1:${port}`, tunnels };
  return proxy;
}

function agentOf({ url }: Proxy, options: Partial<ProxyAgent.Options> = {}): ProxyAgent {
  const agent = new ProxyAgent({ uri: url, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

describe('a sender through the proxy of its host', () => {
  test('delivers what it signed, through the tunnel alone', async () => {
    const receiver = await openReceiver();
    const proxy = await openProxy();
    const dispatcher = agentOf(proxy);
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

  test('checks the receiver’s certificate as the agent was told to', async () => {
    const { cert, key } = createCertificate();
    const receiver = await openReceiver({ tls: { cert, key } });
    const proxy = await openProxy();
    const dispatcher = agentOf(proxy, { requestTls: { ca: cert } });
    const sender = senderTo(receiver, { network: 'delegated', dispatcher });
    await sender.send(messages(2));
    expect(await sender.flush()).toMatchObject({ delivered: 2, pending: 0 });
    expect(batches(receiver)).toEqual([ids(2)]);
  });

  test('sends again what a proxy refused to pass on', async () => {
    const receiver = await openReceiver();
    const proxy = await openProxy((nth) => (nth === 1 ? 502 : undefined));
    const told = listen();
    const sender = senderTo(receiver, {
      network: 'delegated',
      dispatcher: agentOf(proxy),
      schedule: { delaysMs: [1] },
    });
    await sender.send(messages(1));
    expect(await sender.flush()).toMatchObject({ delivered: 1, pending: 0 });
    expect(proxy.tunnels).toHaveLength(2);
    const outcomes = told.of('attempt-settled').map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['later', 'delivered']);
  });
});
