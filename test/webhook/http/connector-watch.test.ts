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

const certificate = createCertificate({ hosts: ['hooks.test', '127.0.0.1'] });

/** One connect under the eyes of a watch, ended with the test. */
function watchedConnect(options: Omit<GuardedConnectOptions, 'network'>, url: string) {
  const connect = createGuardedConnect(buildConnector, { network: 'allow-private', ...options });
  const ending = new AbortController();
  const phases: [ConnectPhase, number][] = [];
  const { hostname, host, protocol, port } = new URL(url);
  const done = new Promise<net.Socket | Error>((resolve) => {
    const target = { hostname, host, protocol, port, servername: hostname };
    connect(target, (error, socket) => resolve(error ?? socket), {
      signal: ending.signal,
      onPhase: (phase, ms) => phases.push([phase, ms]),
    });
  });
  onTestFinished(async () => {
    const end = await done;
    if (!(end instanceof Error)) end.destroy();
  });
  return { done, phases, end: () => ending.abort() };
}

/** A clock that only events move: 7 ms in the look-up, 11 in TCP, 13 in TLS. */
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

describe('the watch of a connect', () => {
  test('reports how long look-up, TCP and TLS took, in this order', async () => {
    const { lookup, SNICallback, clock } = steppedClock();
    const server = https.createServer({ ...certificate, SNICallback });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as net.AddressInfo;
    const options = { lookup, clock, tls: { ca: certificate.cert } };
    const { done, phases } = watchedConnect(options, `https://hooks.test:${port}/`);
    expect(await done).toMatchObject({ encrypted: true });
    expect(phases).toEqual([
      ['dnsMs', 7],
      ['tcpMs', 11],
      ['tlsMs', 13],
    ]);
  });

  test('hears of no look-up for an address, and of no TLS for http', async () => {
    const canary = await startCanary();
    const { clock } = steppedClock();
    const { done, phases } = watchedConnect({ clock }, `http://127.0.0.1:${canary.port}/`);
    expect(await done).toMatchObject({ remotePort: canary.port });
    expect(phases).toEqual([['tcpMs', 11]]);
  });

  test('hears nothing of a phase that fails', async () => {
    const canary = await startCanary();
    await canary.close();
    const { lookup, clock } = steppedClock();
    const url = `http://hooks.test:${canary.port}/`;
    const { done, phases } = watchedConnect({ lookup, clock }, url);
    expect(await done).toMatchObject({ code: 'ECONNREFUSED' });
    expect(phases).toEqual([['dnsMs', 7]]);
  });

  test('ends a handshake that hangs, and its socket, at once', async () => {
    const canary = await startCanary();
    const { done, end } = watchedConnect({}, `https://127.0.0.1:${canary.port}/`);
    await canary.connected(1);
    end();
    expect(await done).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    await canary.idle();
  });

  test('that ends later leaves the connection alone', async () => {
    const canary = await startCanary();
    const { done, end } = watchedConnect({}, `http://127.0.0.1:${canary.port}/`);
    const socket = (await done) as net.Socket;
    end();
    await systemClock.sleep(20);
    expect(socket.destroyed).toBe(false);
    expect(canary.openConnectionCount).toBe(1);
  });
});

describe('credentials', () => {
  test('that OpenSSL cannot read fail the connect and leave no socket open', async () => {
    const canary = await startCanary();
    const tls = { cert: 'no certificate', key: certificate.key };
    expect(() => createSecureContext(tls)).toThrow(/PEM/);
    const { done, phases } = watchedConnect({ tls }, `https://127.0.0.1:${canary.port}/`);
    expect(await done).toMatchObject({ code: expect.stringMatching(/^ERR_OSSL_/) });
    expect(phases.map(([phase]) => phase)).toEqual(['tcpMs']);
    await canary.idle();
  });
});
