import https from 'node:https';
import type net from 'node:net';
import tls from 'node:tls';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createCertificate } from '../../../src/testing/index.ts';
import { codeOf, guardedAgent, post, resolver } from '../../helpers/guarded-agent.ts';
import { startReceiver } from '../../helpers/receiver.ts';

describe('TLS', () => {
  const network = 'allow-private';
  const certificate = createCertificate({ hosts: ['hooks.test', '127.0.0.1'] });
  const { lookup } = resolver({ 'hooks.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] });

  /** Answers with what it saw of the handshake, and closes, so that each request is a handshake. */
  async function startTlsServer(options: https.ServerOptions = {}) {
    const handshakes: { name: unknown; reused: boolean; protocol: string | null }[] = [];
    const server = https.createServer({ ...certificate, ...options }, ({ socket }, response) => {
      const secured = socket as tls.TLSSocket & { servername: unknown };
      handshakes.push({
        name: secured.servername,
        reused: secured.isSessionReused(),
        protocol: secured.getProtocol(),
      });
      response.setHeader('connection', 'close').end();
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return { handshakes, port: (server.address() as net.AddressInfo).port };
  }

  const trusting = () => guardedAgent({ network, lookup, tls: { ca: certificate.cert } });

  test('is asked for the name of the URL, not for the checked address', async () => {
    const { handshakes, port } = await startTlsServer();
    expect(await post(`https://hooks.test:${port}/`, trusting())).toBe(200);
    expect(handshakes).toEqual([{ name: 'hooks.test', reused: false, protocol: 'TLSv1.3' }]);
  });

  test('takes up its session again', async () => {
    const { handshakes, port } = await startTlsServer({ maxVersion: 'TLSv1.2' });
    const agent = trusting();
    for (let round = 0; round < 3; round += 1) await post(`https://hooks.test:${port}/`, agent);
    expect(handshakes.map(({ reused }) => reused)).toEqual([false, true, true]);
  });

  test('refuses a certificate that nobody vouches for, and closes the connection', async () => {
    const receiver = await startReceiver({ tls: certificate });
    onTestFinished(() => receiver.close());
    expect(await codeOf(receiver.url, guardedAgent({ network }))).toBe(
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    );
    await receiver.idle();
    expect(receiver.requests).toEqual([]);
  });

  test('checks certificates whatever the environment of the host says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const receiver = await startReceiver({ tls: certificate });
    onTestFinished(() => receiver.close());
    expect(await codeOf(receiver.url, guardedAgent({ network }))).toBe(
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    );
  });

  test('refuses the certificate of another name', async () => {
    const { port } = await startTlsServer();
    expect(await codeOf(`https://other.test:${port}/`, trusting())).toBe(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
  });

  test('refuses it each time: no session is taken up that was never checked', async () => {
    const { handshakes, port } = await startTlsServer({ maxVersion: 'TLSv1.2' });
    const agent = trusting();
    const codes = [
      await codeOf(`https://other.test:${port}/`, agent),
      await codeOf(`https://other.test:${port}/`, agent),
    ];
    expect(codes).toEqual(['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);
    expect(handshakes).toEqual([]);
  });

  test('fails where the peer does not speak it', async () => {
    const canary = await startReceiver({ onConnection: (socket) => socket.end('hello\r\n') });
    onTestFinished(() => canary.close());
    const code = await codeOf(`https://127.0.0.1:${canary.port}/`, guardedAgent({ network }));
    expect(code).toMatch(/^(ERR_SSL_|EPROTO)/);
  });

  test('fails as reset where the peer ends the handshake', async () => {
    const canary = await startReceiver({ onConnection: (socket) => socket.end() });
    onTestFinished(() => canary.close());
    const agent = guardedAgent({ network });
    expect(await codeOf(`https://127.0.0.1:${canary.port}/`, agent)).toBe('ECONNRESET');
  });

  describe('under settings of the host', () => {
    test('asks for TLS 1.2 though the host would take 1.1', async () => {
      setDefaults('TLSv1');
      const { port } = await startTlsServer({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' });
      const plain = new Agent({ connect: { ca: certificate.cert } });
      onTestFinished(() => plain.destroy());
      expect(await codeOf(`https://127.0.0.1:${port}/`, plain)).toBe(200);
      expect(await codeOf(`https://127.0.0.1:${port}/`, trusting())).toBe(
        'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      );
    });

    test.each([
      ['TLSv1.2', 200],
      ['TLSv1.3', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
    ] as const)('meets a TLS 1.2 receiver, where the host asks for %s, with %s', async (...row) => {
      const [minimum, outcome] = row;
      const { port } = await startTlsServer({ maxVersion: 'TLSv1.2', minVersion: 'TLSv1.2' });
      setDefaults(minimum);
      expect(await codeOf(`https://127.0.0.1:${port}/`, trusting())).toBe(outcome);
    });
  });
});

function setDefaults(minimum: tls.SecureVersion): void {
  const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
  Object.assign(tls, { DEFAULT_MIN_VERSION: minimum, DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' });
  onTestFinished(() => void Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS }));
}
