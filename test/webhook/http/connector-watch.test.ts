import https from 'node:https';
import type net from 'node:net';
import { createSecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createCertificate } from '../../../src/testing/index.ts';
import {
  type ConnectPhase,
  createGuardedConnect,
  type GuardedConnectOptions,
  type LookupAll,
} from '../../../src/webhook/http/connector.ts';
import { startCanary, watchSockets } from '../../helpers/guarded-agent.ts';
import { listenOn } from '../../helpers/servers.ts';

const certificate = createCertificate({ hosts: ['hooks.test', '127.0.0.1'] });

/** Connects and records the phases. Destroys the socket at the end of the test. */
function watchedConnect(options: Omit<GuardedConnectOptions, 'network'>, url: string) {
  const connect = createGuardedConnect(buildConnector, { network: 'allow-private', ...options });
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
    const server = https.createServer({ ...certificate, SNICallback });
    const port = await listenOn(server);
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
    const tls = { cert: 'no certificate', key: certificate.key };
    expect(() => createSecureContext(tls)).toThrow(/PEM/);
    const { done, phases } = watchedConnect({ tls }, `https://127.0.0.1:${canary.port}/`);
    expect(await done).toMatchObject({ code: expect.stringMatching(/^ERR_OSSL_/) });
    expect(phases.map(([phase]) => phase)).toEqual(['tcpMs']);
    await canary.idle();
  });
});
