import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import {
  type Receiver,
  type ReceiverOptions,
  respond,
  startReceiver,
} from '../../helpers/receiver.ts';

async function open(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

test('what an attack put on Object.prototype changes nothing of how is sent, where to, and whom is trusted', async () => {
  const certificate = createCertificate({ hosts: ['localhost', '127.0.0.1'] });
  const { key, cert } = createCertificate();
  const plain = await open();
  const shown: string[] = [];
  const secure = await open({
    tls: { ...certificate, requestCert: true, rejectUnauthorized: false },
    script: [
      (exchange) => {
        const peer = (exchange.socket as TLSSocket).getPeerX509Certificate();
        if (peer !== undefined) shown.push(peer.toString());
        respond()(exchange);
      },
    ],
  });
  /** What JSON can hold, so that a careless merge of a received document leaves it there. */
  const pollution = {
    // The receiver's own CA: a receiver that nobody trusts would be trusted.
    ca: certificate.cert,
    tls: { ca: certificate.cert },
    cert,
    key,
    secureContext: {},
    servername: 'elsewhere.example',
    maxVersion: 'TLSv1.1',
    session: 'a',
    pskCallback: true,
    enableTrace: true,
    path: '/tmp/a.sock',
    localAddress: '192.0.2.1',
    query: { a: 'b' },
    upgrade: 'websocket',
    expectContinue: true,
    throwOnError: true,
    responseHeaders: 'raw',
    keepAlive: true,
    kind: 'failure',
  };
  const args = [JSON.stringify(pollution), plain.url, secure.url, certificate.cert];
  const { stdout, stderr, exitCode } = await runFixture('polluted-posts.ts', args);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  const { nothing, ...seen } = JSON.parse(stdout) as Record<string, unknown>;
  expect(nothing).toEqual([
    200,
    200,
    200,
    expect.stringMatching(/^tls: .*DEPTH_ZERO_SELF_SIGNED_CERT/),
  ]);
  expect(seen).toEqual(Object.fromEntries(Object.keys(pollution).map((name) => [name, nothing])));
  const [first] = plain.requests;
  expect(plain.requests).toHaveLength(Object.keys(seen).length + 1);
  for (const { bytes } of plain.requests) expect(bytes).toEqual(first?.bytes);
  expect(shown).toEqual([]);
});
