import https from 'node:https';
import { rootCertificates, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createCertificate } from '../../../src/testing/index.ts';
import type { Poster, TlsCredentials } from '../../../src/webhook/http/client.ts';
import { credentialsIdentity } from '../../../src/webhook/http/tls.ts';
import { openPoster, openReceiver, requestTo } from '../../helpers/poster.ts';
import { respond } from '../../helpers/receiver.ts';
import { listenOn } from '../../helpers/servers.ts';

const SERVER = createCertificate();
const [OURS, THEIRS] = [createCertificate(), createCertificate()];
const TRUSTED = { ca: SERVER.cert };

/** Answers 204 and records client certificates and connections. */
async function startServer(options: https.ServerOptions = {}) {
  const shown: (string | undefined)[] = [];
  const sockets = new Set<TLSSocket>();
  const resumed: boolean[] = [];
  const server = https.createServer({ ...SERVER, ...options }, (request, response) => {
    const socket = request.socket as TLSSocket;
    sockets.add(socket);
    resumed.push(socket.isSessionReused());
    shown.push(socket.getPeerX509Certificate()?.toString());
    request.resume().on('end', () => response.writeHead(204).end());
  });
  server.on('tlsClientError', () => {});
  return { url: `https://localhost:${await listenOn(server)}/`, shown, sockets, resumed };
}

const post = (poster: Poster, url: string, tls?: TlsCredentials) =>
  poster.post(requestTo(url, { tls }));

describe('the credentials of a request', () => {
  test.each<[string, TlsCredentials]>([
    ['a text', TRUSTED],
    ['a buffer', { ca: Buffer.from(SERVER.cert) }],
    ['one of many', { ca: [...rootCertificates.slice(0, 1), Buffer.from(SERVER.cert)] }],
  ])("make the receiver's own CA trusted: %s", async (_what, tls) => {
    const { url } = await startServer();
    expect(await post(openPoster(), url, tls)).toMatchObject({ status: 204 });
  });

  test.each<[string, TlsCredentials | undefined]>([
    ['none', undefined],
    ['none in them', {}],
    ['another', { ca: THEIRS.cert }],
    ['a list of none', { ca: [] }],
  ])('do not make a receiver with another CA trusted: %s', async (_what, tls) => {
    const { url, shown } = await startServer();
    expect(await post(openPoster(), url, tls)).toMatchObject({ kind: 'failure', code: 'tls' });
    expect(shown).toEqual([]);
  });

  test('do not make the receiver trusted for other requests', async () => {
    const { url, shown } = await startServer();
    const poster = openPoster();
    expect(await post(poster, url, TRUSTED)).toMatchObject({ status: 204 });
    expect(await post(poster, url)).toMatchObject({ code: 'tls' });
    expect(await post(poster, url, { ca: [] })).toMatchObject({ code: 'tls' });
    expect(await post(poster, url, TRUSTED)).toMatchObject({ reusedConnection: true });
    expect(shown).toHaveLength(2);
  });

  test('present the client certificate if the receiver requests one', async () => {
    const { url, shown } = await startServer({ requestCert: true, ca: OURS.cert });
    const result = await post(openPoster(), url, { ...TRUSTED, ...OURS });
    expect(result).toMatchObject({ status: 204 });
    expect(shown).toEqual([OURS.cert]);
  });

  test('fail with a wrong client certificate, and no request arrives', async () => {
    const { url, shown } = await startServer({ requestCert: true, ca: OURS.cert });
    const result = await post(openPoster(), url, { ...TRUSTED, ...THEIRS });
    // In TLS 1.3 Node's server rejects a client after the handshake by closing the connection.
    expect(result).toMatchObject({ kind: 'failure', code: 'connection-reset' });
    expect(shown).toEqual([]);
  });

  test('fail as TLS if certificate and key do not match, without their text', async () => {
    const { url, shown } = await startServer();
    const result = await post(openPoster(), url, { ...TRUSTED, cert: OURS.cert, key: THEIRS.key });
    expect(result).toMatchObject({ kind: 'failure', code: 'tls' });
    expect(JSON.stringify(result)).not.toContain('BEGIN');
    expect(shown).toEqual([]);
  });

  test('share connections and TLS sessions only with equal credentials', async () => {
    const asking = { requestCert: true, rejectUnauthorized: false, maxVersion: 'TLSv1.2' } as const;
    const { url, shown, sockets, resumed } = await startServer(asking);
    const poster = openPoster();
    const [ours, theirs] = [
      { ...TRUSTED, ...OURS },
      { ...TRUSTED, ...THEIRS },
    ];
    await post(poster, url, ours);
    await post(poster, url, theirs);
    await post(poster, url, structuredClone(ours));
    await post(poster, url, { ...theirs, ca: Buffer.from(SERVER.cert) });
    expect(shown).toEqual([OURS.cert, THEIRS.cert, OURS.cert, THEIRS.cert]);
    expect(sockets.size).toBe(2);
    expect(resumed).toEqual([false, false, false, false]);
  });

  test('are remembered for at most 256 sets, dropping the one not used for longest', async () => {
    // With the default of 4 s the first could expire before the last is sent on a busy machine.
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=60' };
    const receiver = await openReceiver({ script: [respond({ headers })] });
    const poster = openPoster({ maxIdleConnections: 1000 });
    // Over http they have no effect but still distinguish connections.
    const isReused = async (ca: string) =>
      (await post(poster, receiver.url, { ca })).reusedConnection;
    for (let count = 0; count < 256; count += 1) await isReused(`${count}`);
    expect([await isReused('0'), await isReused('256')]).toEqual([true, false]);
    expect([await isReused('0'), await isReused('1')]).toEqual([true, false]);
  });

  test('resume only their own TLS session', async () => {
    const { url, shown, resumed } = await startServer({
      requestCert: true,
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.2',
    });
    const poster = openPoster({ maxIdleConnections: 0 });
    const round = async (): Promise<readonly boolean[]> => {
      for (const own of [OURS, THEIRS]) await post(poster, url, { ...TRUSTED, ...own });
      expect(shown.splice(0)).toEqual([OURS.cert, THEIRS.cert]);
      return resumed.splice(0);
    };
    expect(await round()).toEqual([false, false]);
    // undici references sessions weakly, so the garbage collector may drop one between two rounds.
    const later = [];
    for (let rounds = 0; rounds < 5; rounds += 1) later.push(String(await round()));
    expect(later).toContain('true,true');
  });
});

describe('credentialsIdentity', () => {
  const DIFFERENT: readonly (TlsCredentials | undefined)[] = [
    undefined,
    { ca: [] },
    { ca: 'a' },
    { ca: ['a', 'a'] },
    { ca: ['aa'] },
    { cert: 'a' },
    { key: 'a' },
    { cert: 'a', key: 'b' },
    { cert: 'b', key: 'a' },
    { ca: 'a', cert: 'b', key: 'c' },
  ];

  test('differs for different contents', () => {
    const identities = DIFFERENT.map((credentials) => credentialsIdentity(credentials));
    expect(new Set(identities).size).toBe(DIFFERENT.length);
  });

  test.each<[TlsCredentials, TlsCredentials]>([
    [{ ca: 'a' }, { ca: ['a'] }],
    [
      { ca: 'a', cert: 'b' },
      { cert: Buffer.from('b'), ca: [Buffer.from('a')], key: undefined },
    ],
  ])('is the same for equal contents', (one, other) => {
    expect(credentialsIdentity(one)).toBe(credentialsIdentity(other));
  });
});
