import net from 'node:net';
import { buildConnector } from 'undici';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import { createGuardedConnect, type LookupAll } from '../../../src/webhook/http/connector.ts';
import {
  codeOf,
  guardedAgent,
  post,
  resolver,
  startCanary,
  watchSockets,
} from '../../helpers/guarded-agent.ts';
import { type Receiver, startReceiver } from '../../helpers/receiver.ts';
import {
  CANARY_SPELLINGS,
  METADATA_SPELLINGS,
  NAMES,
  NO_URLS,
  REFUSED_SPELLINGS,
} from './refused-spellings.ts';

const PUBLIC = '93.184.216.34';

const hasIpv6Loopback = await new Promise<boolean>((resolve) => {
  const server = net.createServer();
  server.once('error', () => resolve(false));
  server.listen(0, '::1', () => server.close(() => resolve(true)));
});

describe("under 'public'", () => {
  let canary: Receiver;
  let canaryV6: Receiver | undefined;
  beforeAll(async () => {
    canary = await startReceiver();
    canaryV6 = hasIpv6Loopback ? await startReceiver({ host: '::1' }) : undefined;
  });
  afterAll(async () => {
    await canary.close();
    await canaryV6?.close();
  });

  const refused: readonly (readonly [spelling: string, rule: string])[] = [
    ...CANARY_SPELLINGS.map((spelling) => [spelling, 'loopback'] as const),
    ...REFUSED_SPELLINGS,
    ...METADATA_SPELLINGS.map((spelling) => [spelling, 'metadata-service'] as const),
  ];

  test.each(refused)('refuses %j by rule %s, and nothing arrives', async (spelling, rule) => {
    const agent = guardedAgent({ network: 'public', lookup: resolver(NAMES).lookup });
    for (const { port } of [canary, canaryV6 ?? canary]) {
      const error = await post(spelling.replace('PORT', `${port}`), agent);
      expect(error).toBeInstanceOf(SecurityEventError);
      expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED', path: ['network'] });
      expect(error).toHaveProperty('message', expect.stringContaining(`: rule '${rule}' refuses `));
    }
    expect([canary.connectionCount, canaryV6?.connectionCount ?? 0]).toEqual([0, 0]);
  });

  test('knows at least sixty spellings', () => {
    expect(new Set(refused.map(([spelling]) => spelling)).size).toBe(refused.length);
    expect(refused.length).toBeGreaterThanOrEqual(60);
  });

  test('asks no resolver about an address', async () => {
    const { asked, lookup } = resolver({ '127.0.0.1': [PUBLIC], '::1': [PUBLIC] });
    const agent = guardedAgent({ network: 'public', lookup });
    expect(await codeOf(`http://127.0.0.1:${canary.port}/`, agent)).toBe('ERR_ADDRESS_REFUSED');
    expect(await codeOf(`http://[::1]:${canary.port}/`, agent)).toBe('ERR_ADDRESS_REFUSED');
    expect(asked).toEqual([]);
  });

  test.each(NO_URLS)('never gets to see %j, which is no URL', async (spelling) => {
    const { asked, lookup } = resolver(NAMES);
    const url = spelling.replace('PORT', `${canary.port}`);
    expect(await codeOf(url, guardedAgent({ network: 'public', lookup }))).toMatch(/INVALID/);
    expect(asked).toEqual([]);
    expect(canary.connectionCount).toBe(0);
  });

  // From 127.0.0.1 no packet can leave the machine, and the error tells where it was to go.
  test.each([
    ['http:', '', 80],
    ['https:', '', 443],
    ['http:', '8080', 8080],
    ['https:', '8443', 8443],
    ['http:', '0', 0],
  ])('lets the public address of a name be connected to (%s, port %j)', async (...row) => {
    const [protocol, port, expected] = row;
    const { asked, lookup } = resolver({ 'hooks.test': [PUBLIC] });
    const connect = createGuardedConnect(buildConnector, { network: 'public', lookup });
    const target = { hostname: 'hooks.test', protocol, port, localAddress: '127.0.0.1' };
    const error = await new Promise<NodeJS.ErrnoException & net.SocketAddressInitOptions>(
      (resolve) => connect(target, (...[failure]) => resolve(failure ?? new Error('connected'))),
    );
    // Node leaves a port of 0 out of its error.
    expect([error.syscall, error.address, error.port ?? 0]).toEqual(['connect', PUBLIC, expected]);
    expect(asked).toEqual(['hooks.test']);
  });

  test('judges every answer of a resolver that changes its mind, and asks once a connection', async () => {
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    let asked = 0;
    const lookup: LookupAll = (_hostname, _options, callback) => {
      asked += 1;
      callback(null, [{ address: asked % 2 === 1 ? PUBLIC : '127.0.0.1', family: 4 }]);
    };
    const agent = guardedAgent({ network: 'public', lookup }, { localAddress: '127.0.0.1' });
    const url = `http://rebinding.test:${canary.port}/`;
    for (let round = 0; round < 5; round += 1) {
      expect(await post(url, agent)).toMatchObject({ address: PUBLIC });
      expect(await codeOf(url, agent)).toBe('ERR_ADDRESS_REFUSED');
    }
    expect(asked).toBe(10);
    expect(sockets).toHaveLength(5);
    expect(canary.connectionCount).toBe(0);
  });

  test.each(['http', 'https'])('judges the peer before the first byte (%s)', async (scheme) => {
    let bytes = 0;
    const trap = net.createServer((socket) => {
      socket.on('data', (chunk) => {
        bytes += chunk.length;
      });
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void trap.close());
    const ended = new Promise<void>((resolve) => {
      trap.once('connection', (socket) => socket.once('close', () => resolve()));
    });
    const { port } = trap.address() as net.AddressInfo;

    // What a preloaded proxy does: the socket is led elsewhere below everything that we check.
    leadSocketsTo(port);

    const agent = guardedAgent({ network: 'public' });
    const error = await post(`${scheme}://${PUBLIC}/`, agent);
    expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
    expect(error).toHaveProperty('message', expect.stringContaining("rule 'loopback'"));
    await ended;
    expect(bytes).toBe(0);
  });
});

describe("under 'allow-private'", () => {
  test.each(CANARY_SPELLINGS)('reaches the same canary by %j', async (spelling) => {
    const canary = await startCanary();
    const agent = guardedAgent({ network: 'allow-private', lookup: resolver(NAMES).lookup });
    expect(await post(spelling.replace('PORT', `${canary.port}`), agent)).toBe(200);
    expect(canary.connectionCount).toBe(1);
  });

  test.runIf(hasIpv6Loopback).each(['http://[::1]:PORT/', 'http://loopback-v6.test:PORT/'])(
    'reaches the canary by %j',
    async (spelling) => {
      const canary = await startCanary('::1');
      const agent = guardedAgent({ network: 'allow-private', lookup: resolver(NAMES).lookup });
      expect(await post(spelling.replace('PORT', `${canary.port}`), agent)).toBe(200);
      expect(canary.connectionCount).toBe(1);
    },
  );

  test.each(METADATA_SPELLINGS)('still refuses %j', async (url) => {
    const agent = guardedAgent({ network: 'allow-private', lookup: resolver(NAMES).lookup });
    const error = await post(url, agent);
    expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
    expect(error).toHaveProperty('message', expect.stringContaining("rule 'metadata-service'"));
  });

  test('refuses a name with one refused address among those that it allows', async () => {
    const canary = await startCanary();
    const { lookup } = resolver({ 'mixed.test': ['127.0.0.1', '127.0.0.2', '100.64.0.1'] });
    const agent = guardedAgent({ network: 'allow-private', lookup });
    const error = await post(`http://mixed.test:${canary.port}/`, agent);
    expect(error).toHaveProperty('message', expect.stringContaining("rule 'cgnat'"));
    expect(canary.connectionCount).toBe(0);
  });

  test('tries the next answer where nobody listens', async () => {
    const canary = await startCanary();
    const { asked, lookup } = resolver({ 'several.test': ['::1', '127.0.0.9', '127.0.0.1'] });
    const agent = guardedAgent({ network: 'allow-private', lookup });
    expect(await post(`http://several.test:${canary.port}/`, agent)).toBe(200);
    expect(asked).toEqual(['several.test']);
  });

  test('connects to what was judged, though the answer is changed afterwards', async () => {
    const canary = await startCanary();
    let reads = 0;
    const answer = {
      family: 4,
      get address() {
        reads += 1;
        return reads === 1 ? '127.0.0.1' : '127.0.0.2';
      },
    };
    const lookup: LookupAll = (_hostname, _options, callback) => {
      const answers = [answer];
      callback(null, answers);
      answers[0] = { family: 4, address: '127.0.0.2' };
    };
    const agent = guardedAgent({ network: 'allow-private', lookup });
    expect(await post(`http://changing.test:${canary.port}/`, agent)).toBe(200);
  });
});

describe("under 'delegated'", () => {
  test.each(['127.0.0.1', '0.0.0.0'])('judges nothing, not even %s', async (host) => {
    const canary = await startCanary();
    expect(
      await post(`http://${host}:${canary.port}/`, guardedAgent({ network: 'delegated' })),
    ).toBe(200);
  });
});

/** What a preloaded proxy does: sockets are led elsewhere, below everything that we check. */
function leadSocketsTo(port: number): void {
  const { prototype } = net.Socket;
  const connect = Object.getOwnPropertyDescriptor(prototype, 'connect') as PropertyDescriptor;
  Object.defineProperty(prototype, 'connect', {
    ...connect,
    value(this: net.Socket) {
      return Reflect.apply(connect.value, this, [{ port, host: '127.0.0.1' }]);
    },
  });
  onTestFinished(() => void Object.defineProperty(prototype, 'connect', connect));
}
