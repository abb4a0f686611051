import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { createCertificate } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { openReceiver } from '../../helpers/poster.ts';
import { respond } from '../../helpers/receiver.ts';

test('a polluted Object.prototype does not change requests, destinations or trust', async () => {
  const certificate = createCertificate({ hosts: ['localhost', '127.0.0.1'] });
  const { key, cert } = createCertificate();
  const plain = await openReceiver();
  const clientCertificates: string[] = [];
  const secure = await openReceiver({
    tls: { ...certificate, requestCert: true, rejectUnauthorized: false },
    script: [
      (exchange) => {
        const peer = (exchange.socket as TLSSocket).getPeerX509Certificate();
        if (peer !== undefined) clientCertificates.push(peer.toString());
        respond()(exchange);
      },
    ],
  });
  /** JSON values, which a careless merge of a received document could leave on the prototype. */
  const pollution = {
    // The receiver's own CA, which would make the untrusted receiver trusted.
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
  const { nothing, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
  expect(nothing).toEqual([
    200,
    200,
    200,
    expect.stringMatching(/^tls: .*DEPTH_ZERO_SELF_SIGNED_CERT/),
  ]);
  expect(rest).toEqual(Object.fromEntries(Object.keys(pollution).map((name) => [name, nothing])));
  const [first] = plain.requests;
  expect(plain.requests).toHaveLength(Object.keys(rest).length + 1);
  for (const { bytes } of plain.requests) expect(bytes).toEqual(first?.bytes);
  expect(clientCertificates).toEqual([]);
});
