import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ClientAddressOptions,
  readClientAddressOptions,
  walkHops,
} from '../../../src/capture/client-address/client-address.ts';
import { explainClientAddress } from '../../../src/capture/client-address/explain-client-address.ts';
import { forwardedOrigin } from '../../../src/capture/client-address/forwarded-origin.ts';
import type { HeadersLike, RequestLike } from '../../../src/capture/request/request-like.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';

const PROXY = '10.0.0.1';
const request = (headers: HeadersLike, remoteAddress: string | undefined = PROXY): RequestLike => ({
  headers,
  socket: { remoteAddress, remotePort: 4711 },
});
const client = (given: RequestLike, options: ClientAddressOptions) =>
  walkHops(given, readClientAddressOptions(options)).client;
const addressBy = (forwardedFor: string, options: ClientAddressOptions) =>
  client(request({ 'x-forwarded-for': forwardedFor }), options)?.address;

const everyone = (): boolean => true;

describe('the walk', () => {
  const TEN = { trustedProxies: '10.0.0.0/8' };

  test.each<[string, ClientAddressOptions, string]>([
    ['6.6.6.6, 203.0.113.9, 10.0.0.2', TEN, '203.0.113.9'],
    // All hops are proxies: the farthest is the client.
    ['10.0.0.3, 10.0.0.2', TEN, '10.0.0.3'],
    ['', TEN, PROXY],
    ['6.6.6.6, 203.0.113.9, 10.0.0.2', {}, PROXY],
    ['6.6.6.6, 203.0.113.9, 10.0.0.2', { trustedProxies: 2 }, '203.0.113.9'],
    ['6.6.6.6, 203.0.113.9,, 10.0.0.2', { trustedProxies: 2 }, '203.0.113.9'],
    ['6.6.6.6, 203.0.113.9, 10.0.0.2', { trustedProxies: 9 }, '6.6.6.6'],
    ['6.6.6.6, 203.0.113.9, 10.0.0.2', { trustedProxies: everyone }, '6.6.6.6'],
    ['6.6.6.6, 203.0.113.9', { trustedProxies: (_, hop) => hop === 0 }, '203.0.113.9'],
    ['6.6.6.6, 203.0.113.9', { trustedProxies: (address) => address === PROXY }, '203.0.113.9'],
    // A hop that a trusted proxy could not name ends the walk: everything further left may be forged.
    ['6.6.6.6, unknown', TEN, PROXY],
    ['6.6.6.6, 10.2', { trustedProxies: 9 }, PROXY],
    ['unknown, 203.0.113.9', TEN, '203.0.113.9'],
    // Normalised before it is compared.
    ['203.0.113.9, ::ffff:10.0.0.2', TEN, '203.0.113.9'],
    ['203.0.113.9, ::1', { trustedProxies: [PROXY, '::1'] }, '203.0.113.9'],
  ])('finds for %j with %o the client %s', (forwardedFor, options, expected) => {
    expect(addressBy(forwardedFor, options)).toBe(expected);
  });

  test.each<[string, string | undefined]>([
    ['::ffff:10.0.0.1', '203.0.113.9'],
    ['11.0.0.1', '11.0.0.1'],
    ['::1', '127.0.0.1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['', undefined],
  ])('finds for the peer %j the client %j', (peer, expected) => {
    const given = request({ 'x-forwarded-for': '203.0.113.9' }, peer);
    expect(client(given, TEN)?.address).toBe(expected);
  });

  test('calls a function with normalised addresses and their hops', () => {
    const asked: unknown[] = [];
    const trustedProxies = (address: string, hop: number): boolean => {
      asked.push([address, hop]);
      return true;
    };
    const value = '203.0.113.9, [2001:DB8::0:1]:80, "10.0.0.2"';
    client(request({ 'x-forwarded-for': value }, '::ffff:10.0.0.1'), { trustedProxies });
    expect(asked).toEqual([
      ['10.0.0.1', 0],
      ['10.0.0.2', 1],
      ['2001:db8::1', 2],
      ['203.0.113.9', 3],
    ]);
  });
});

describe('a peer without an address', () => {
  const headers = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' };

  test.each<[ClientAddressOptions, string | undefined]>([
    [{ trustedProxies: 1 }, '203.0.113.9'],
    [{ trustedProxies: () => true }, undefined],
    [{ trustedProxies: ['loopback', 'uniquelocal', 'linklocal'] }, undefined],
    [{}, undefined],
  ])('gives with %o the client %j', (options, expected) => {
    expect(client({ headers, socket: {} }, options)?.address).toBe(expected);
    expect(client({ headers }, options)?.address).toBe(expected);
  });
});

describe('the trusted header', () => {
  const headers: HeadersLike = {
    'x-forwarded-for': '203.0.113.1',
    forwarded: 'for=203.0.113.2',
    'x-real-ip': '203.0.113.3',
    'cf-connecting-ip': '6.6.6.6, 203.0.113.4',
  };

  test.each<[string | undefined, string, string]>([
    [undefined, '203.0.113.1', 'x-forwarded-for'],
    ['X-Forwarded-For', '203.0.113.1', 'x-forwarded-for'],
    ['forwarded', '203.0.113.2', 'forwarded'],
    ['x-real-ip', '203.0.113.3', 'x-real-ip'],
    ['cf-connecting-ip', '203.0.113.4', 'cf-connecting-ip'],
    ['true-client-ip', PROXY, 'socket'],
  ])('is only %j', (addressHeader, address, source) => {
    const found = client(request(headers), { trustedProxies: PROXY, addressHeader });
    expect(found).toMatchObject({ address, source });
  });

  test.each([
    ['x-forwarded-for', '1.1.1.1,'.repeat(100_000)],
    ['x-forwarded-for', `1.1.1.1,${' '.repeat(65_536)}`],
    ['forwarded', `"${'\\'.repeat(65_536)}`],
    ['forwarded', `for="${',\\"'.repeat(30_000)}`],
  ])('costs at most 65 calls, however long %s is (%#)', (addressHeader, value) => {
    let questions = 0;
    const trustedProxies = (): boolean => {
      questions += 1;
      return true;
    };
    const found = client(request({ [addressHeader]: value }), { trustedProxies, addressHeader });
    expect(questions).toBeLessThanOrEqual(65);
    expect(['1.1.1.1', PROXY]).toContain(found?.address);
  });
});

describe('readClientAddressOptions', () => {
  test.each(['', 'x forwarded', 'x-forwarded-for:', 'x,y', 7, 'x'.repeat(101)])(
    'refuses %j as the name of a header',
    (addressHeader) => {
      expect(() => readClientAddressOptions({ addressHeader } as ClientAddressOptions)).toThrow(
        expect.objectContaining({
          code: 'ERR_INVALID_OPTION',
          path: ['addressHeader'],
          message: expect.stringContaining(': expected addressHeader to be the name of a header. '),
        }),
      );
    },
  );

  test('trusts no proxy by default', () => {
    expect(readClientAddressOptions().isTrusted('127.0.0.1', 0)).toBe(false);
    expect(readClientAddressOptions().addressHeader).toBe('x-forwarded-for');
  });
});

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(',', ', ', ';', '"', '\\', '[', ']', ':', '%', '=', 'for=', 'proto=https'),
        fc.constantFrom('unknown', '_x', '::ffff:', '0x7f.1', '010.1.1.1', ':80', '%eth0', 'host='),
        fc.ipV4(),
        fc.ipV6(),
        fc.ipV4Extended(),
      ),
      { maxLength: 14 },
    )
    .map((parts) => parts.join('')),
);
const value = fc.oneof(
  text,
  fc.array(text, { maxLength: 4 }),
  fc.constant(undefined),
  fc.anything() as fc.Arbitrary<string>,
);
const FORWARDED = ['for', 'proto', 'host', 'port'].map((name) => `x-forwarded-${name}`);
const NAMES = [...FORWARDED, 'forwarded', 'host', ':authority', ':scheme'];
const anyRequest = fc.record({
  headers: fc.record(Object.fromEntries(NAMES.map((name) => [name, value]))),
  socket: fc.option(
    fc.record({ remoteAddress: fc.oneof(text, fc.ipV4(), fc.ipV6()), remotePort: fc.integer() }),
    { nil: undefined },
  ),
}) as fc.Arbitrary<RequestLike>;
const anyOptions = fc.record<ClientAddressOptions>({
  trustedProxies: fc.constantFrom<NonNullable<ClientAddressOptions['trustedProxies']>>(
    () => true,
    1,
    64,
    ['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1'],
    'loopback, uniquelocal',
  ),
  addressHeader: fc.constantFrom('x-forwarded-for', 'forwarded', 'host'),
});

describe('any request', () => {
  test('has a client that net.isIP accepts or none, an origin and an explanation', () => {
    fc.assert(
      fc.property(anyRequest, anyOptions, (given, options) => {
        const policy = readClientAddressOptions(options);
        const walk = walkHops(given, policy);
        expect(walk.client === undefined || isIP(walk.client.address) !== 0).toBe(true);
        const origin = forwardedOrigin(given, policy, walk);
        expect(['http', 'https']).toContain(origin.scheme);
        expect(origin.host).toMatch(/^[!-~]{0,255}$/);
        expect(origin.port).toSatisfy((port: number) => port >= 1 && port <= 65_535);
        expect(explainClientAddress(given, options).text).toMatch(/^[ -~\n…]+$/);
      }),
      { numRuns: quickOrNightly(300, 2000) },
    );
  });

  test('has the same client with any text further left', () => {
    const hop = fc.oneof(fc.constantFrom('203.0.113.9', 'unknown', '10.0.0.2'), fc.ipV4());
    fc.assert(
      fc.property(
        text,
        fc.array(hop, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('x-forwarded-for', 'forwarded'),
        (left, hops, addressHeader) => {
          const options = { trustedProxies: '10.0.0.0/8', addressHeader };
          const right = hops.map((node) =>
            addressHeader === 'forwarded' ? `for="${node}"` : node,
          );
          const policy = readClientAddressOptions(options);
          const alone = walkHops(request({ [addressHeader]: right.join(', ') }), policy);
          // Where all are trusted proxies, the farthest of them has vouched for what is left of it.
          fc.pre(alone.hops.at(-1)?.verdict !== 'trusted');
          const forged = request({ [addressHeader]: [left, ...right].join(', ') });
          expect(walkHops(forged, policy)).toEqual(alone);
        },
      ),
      { numRuns: quickOrNightly(200, 1000) },
    );
  });
});
