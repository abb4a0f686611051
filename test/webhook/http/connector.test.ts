import net from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import type { LookupAll } from '../../../src/webhook/http/connector.ts';
import {
  codeOf,
  guardedAgent,
  guardedConnect,
  post,
  startCanary,
  stubResolver,
  watchSockets,
} from '../../helpers/guarded-agent.ts';
import { type Receiver, startReceiver } from '../../helpers/receiver.ts';
import { listenOn } from '../../helpers/servers.ts';
import {
  CANARY_SPELLINGS,
  INVALID_URLS,
  METADATA_SPELLINGS,
  NAMES,
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

  test.each(refused)('refuses %j by rule %s before connecting', async (spelling, rule) => {
    const agent = guardedAgent({ network: 'public', lookup: stubResolver(NAMES).lookup });
    for (const { port } of [canary, canaryV6 ?? canary]) {
      const error = await post(spelling.replace('PORT', `${port}`), agent);
      expect(error).toBeInstanceOf(SecurityEventError);
      expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED', path: ['network'] });
      expect(error).toHaveProperty('message', expect.stringContaining(`: rule '${rule}' refuses `));
    }
    expect([canary.connectionCount, canaryV6?.connectionCount ?? 0]).toEqual([0, 0]);
  });

  test.each(INVALID_URLS)('never receives %j, which is not a URL', async (spelling) => {
    const { lookups, lookup } = stubResolver(NAMES);
    const url = spelling.replace('PORT', `${canary.port}`);
    expect(await codeOf(url, guardedAgent({ network: 'public', lookup }))).toMatch(/INVALID/);
    expect(lookups).toEqual([]);
    expect(canary.connectionCount).toBe(0);
  });

  // With the local address 127.0.0.1 no packet leaves the machine, and the error names the target.
  test.each([
    ['http:', '', 80],
    ['https:', '', 443],
    ['http:', '8080', 8080],
    ['http:', '0', 0],
  ])('connects to the public address of a name (%s, port %j)', async (...row) => {
    const [protocol, port, expected] = row;
    const { lookups, lookup } = stubResolver({ 'hooks.test': [PUBLIC] });
    const connect = guardedConnect({ network: 'public', lookup });
    const target = { hostname: 'hooks.test', protocol, port, localAddress: '127.0.0.1' };
    const error = await new Promise<NodeJS.ErrnoException & net.SocketAddressInitOptions>(
      (resolve) => connect(target, (...[failure]) => resolve(failure ?? new Error('connected'))),
    );
    // Node omits port 0 in its error.
    expect([error.syscall, error.address, error.port ?? 0]).toEqual(['connect', PUBLIC, expected]);
    expect(lookups).toEqual(['hooks.test']);
  });

  test('checks every answer of a changing resolver, with one lookup per connection', async () => {
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    let lookupCount = 0;
    const lookup: LookupAll = (_hostname, _options, callback) => {
      lookupCount += 1;
      callback(null, [{ address: lookupCount % 2 === 1 ? PUBLIC : '127.0.0.1', family: 4 }]);
    };
    const agent = guardedAgent({ network: 'public', lookup }, { localAddress: '127.0.0.1' });
    const url = `http://rebinding.test:${canary.port}/`;
    for (let round = 0; round < 5; round += 1) {
      expect(await post(url, agent)).toMatchObject({ address: PUBLIC });
      expect(await codeOf(url, agent)).toBe('ERR_ADDRESS_REFUSED');
    }
    expect(lookupCount).toBe(10);
    expect(sockets).toHaveLength(5);
    expect(canary.connectionCount).toBe(0);
  });

  test.each(['http', 'https'])('checks the peer before the first byte (%s)', async (scheme) => {
    let bytes = 0;
    const trap = net.createServer((socket) => {
      socket.on('data', (chunk) => {
        bytes += chunk.length;
      });
      socket.on('error', () => {});
    });
    const ended = new Promise<void>((resolve) => {
      trap.once('connection', (socket) => socket.once('close', () => resolve()));
    });
    redirectSocketsTo(await listenOn(trap));
    const error = await post(`${scheme}://${PUBLIC}/`, guardedAgent({ network: 'public' }));
    expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
    expect(error).toHaveProperty('message', expect.stringContaining("rule 'loopback'"));
    await ended;
    expect(bytes).toBe(0);
  });
});

describe("under 'allow-private'", () => {
  test.each(CANARY_SPELLINGS)('reaches the receiver by %j', async (spelling) => {
    const canary = await startCanary();
    const agent = guardedAgent({ lookup: stubResolver(NAMES).lookup });
    expect(await post(spelling.replace('PORT', `${canary.port}`), agent)).toBe(200);
    expect(canary.connectionCount).toBe(1);
  });

  test.runIf(hasIpv6Loopback).each(['http://[::1]:PORT/', 'http://loopback-v6.test:PORT/'])(
    'reaches the IPv6 receiver by %j',
    async (spelling) => {
      const canary = await startCanary('::1');
      const agent = guardedAgent({ lookup: stubResolver(NAMES).lookup });
      expect(await post(spelling.replace('PORT', `${canary.port}`), agent)).toBe(200);
      expect(canary.connectionCount).toBe(1);
    },
  );

  test.each(METADATA_SPELLINGS)('still refuses %j', async (url) => {
    const agent = guardedAgent({ lookup: stubResolver(NAMES).lookup });
    const error = await post(url, agent);
    expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
    expect(error).toHaveProperty('message', expect.stringContaining("rule 'metadata-service'"));
  });

  test('refuses a name with one refused address among allowed ones', async () => {
    const canary = await startCanary();
    const { lookup } = stubResolver({ 'mixed.test': ['127.0.0.1', '127.0.0.2', '100.64.0.1'] });
    const agent = guardedAgent({ lookup });
    const error = await post(`http://mixed.test:${canary.port}/`, agent);
    expect(error).toHaveProperty('message', expect.stringContaining("rule 'cgnat'"));
    expect(canary.connectionCount).toBe(0);
  });

  test('tries the next address if nothing listens', async () => {
    const canary = await startCanary();
    const { lookups, lookup } = stubResolver({ 'several.test': ['::1', '127.0.0.9', '127.0.0.1'] });
    const agent = guardedAgent({ lookup });
    expect(await post(`http://several.test:${canary.port}/`, agent)).toBe(200);
    expect(lookups).toEqual(['several.test']);
  });

  test('connects to the checked address even if the answer changes afterwards', async () => {
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
    const agent = guardedAgent({ lookup });
    expect(await post(`http://changing.test:${canary.port}/`, agent)).toBe(200);
  });
});

describe("under 'delegated'", () => {
  test.each(['127.0.0.1', '0.0.0.0'])('allows everything, even %s', async (host) => {
    const canary = await startCanary();
    expect(
      await post(`http://${host}:${canary.port}/`, guardedAgent({ network: 'delegated' })),
    ).toBe(200);
  });
});

/** Redirects sockets below all our checks, as a preloaded proxy does. */
function redirectSocketsTo(port: number): void {
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
