import https from 'node:https';
import type net from 'node:net';
import tls from 'node:tls';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createCertificate } from '../../../src/testing/index.ts';
import type {
  ConnectPhase,
  GuardedConnectOptions,
  LookupAll,
} from '../../../src/webhook/http/connector.ts';
import {
  codeOf,
  guardedAgent,
  guardedConnect,
  post,
  startCanary,
  stubResolver,
  watchSockets,
} from '../../helpers/guarded-agent.ts';
import { openReceiver } from '../../helpers/poster.ts';
import { listenOn } from '../../helpers/servers.ts';

const certificate = createCertificate({ hosts: ['hooks.test', '127.0.0.1'] });

/** Records each handshake and closes each connection, so that every request is a handshake. */
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
  return { handshakes, port: await listenOn(server) };
}

describe('TLS', () => {
  const { lookup } = stubResolver({ 'hooks.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] });

  const trusting = () => guardedAgent({ lookup, tls: { ca: certificate.cert } });

  test('verifies the name of the URL, not the checked address', async () => {
    const { handshakes, port } = await startTlsServer();
    expect(await post(`https://hooks.test:${port}/`, trusting())).toBe(200);
    expect(handshakes).toEqual([{ name: 'hooks.test', reused: false, protocol: 'TLSv1.3' }]);
  });

  test('checks certificates in spite of NODE_TLS_REJECT_UNAUTHORIZED', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const receiver = await openReceiver({ tls: certificate });
    expect(await codeOf(receiver.url, guardedAgent())).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  test('rejects a wrong name each time: unverified sessions are not resumed', async () => {
    const { handshakes, port } = await startTlsServer({ maxVersion: 'TLSv1.2' });
    const agent = trusting();
    const codes = [
      await codeOf(`https://other.test:${port}/`, agent),
      await codeOf(`https://other.test:${port}/`, agent),
    ];
    expect(codes).toEqual(['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);
    expect(handshakes).toEqual([]);
  });

  describe('with TLS defaults of the host', () => {
    test('requires TLS 1.2 even if the host allows 1.1', async () => {
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
    ] as const)('when the host requires %s, a TLS 1.2 receiver results in %s', async (...row) => {
      const [minimum, outcome] = row;
      const { port } = await startTlsServer({ maxVersion: 'TLSv1.2', minVersion: 'TLSv1.2' });
      setDefaults(minimum);
      expect(await codeOf(`https://127.0.0.1:${port}/`, trusting())).toBe(outcome);
    });
  });
});

/** Connects and records the phases. Destroys the socket at the end of the test. */
function watchedConnect(options: Partial<GuardedConnectOptions>, url: string) {
  const connect = guardedConnect(options);
  const phases: [ConnectPhase, number][] = [];
  const { hostname, host, protocol, port } = new URL(url);
  const done = new Promise<net.Socket | Error>((resolve) => {
    const target = { hostname, host, protocol, port, servername: hostname };
    connect(target, (error, socket) => resolve(error ?? socket), {
      signal: new AbortController().signal,
      onPhase: (phase, ms) => phases.push([phase, ms]),
    });
  });
  onTestFinished(async () => {
    const end = await done;
    if (!(end instanceof Error)) end.destroy();
  });
  return { done, phases };
}

/** A clock that only events advance: 7 ms for the lookup, 11 for TCP, 13 for TLS. */
function steppedClock() {
  let nowMs = 1000;
  const lookup: LookupAll = (_hostname, _options, callback) => {
    nowMs += 7;
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  };
  watchSockets((socket) => socket.once('connect', () => (nowMs += 11)));
  const SNICallback = (_name: string, settle: (error: null) => void): void => {
    nowMs += 13;
    settle(null);
  };
  return { lookup, SNICallback, clock: { ...systemClock, monotonicMs: () => nowMs } };
}

describe('a connect', () => {
  test('reports the durations of lookup, TCP and TLS, in this order', async () => {
    const { lookup, SNICallback, clock } = steppedClock();
    const port = await listenOn(https.createServer({ ...certificate, SNICallback }));
    const options = { lookup, clock, tls: { ca: certificate.cert } };
    const { done, phases } = watchedConnect(options, `https://hooks.test:${port}/`);
    expect(await done).toMatchObject({ encrypted: true });
    expect(phases).toEqual([
      ['dnsMs', 7],
      ['tcpMs', 11],
      ['tlsMs', 13],
    ]);
  });
});

describe('credentials', () => {
  test('fail the connect and leave no open socket if OpenSSL cannot read them', async () => {
    const canary = await startCanary();
    const credentials = { cert: 'no certificate', key: certificate.key };
    expect(() => tls.createSecureContext(credentials)).toThrow(/PEM/);
    const { done, phases } = watchedConnect(
      { tls: credentials },
      canary.url.replace('http', 'https'),
    );
    expect(await done).toMatchObject({ code: expect.stringMatching(/^ERR_OSSL_/) });
    expect(phases.map(([phase]) => phase)).toEqual(['tcpMs']);
    await canary.idle();
  });
});

function setDefaults(minimum: tls.SecureVersion): void {
  const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
  Object.assign(tls, { DEFAULT_MIN_VERSION: minimum, DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' });
  onTestFinished(() => void Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS }));
}
