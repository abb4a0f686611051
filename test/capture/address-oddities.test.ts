/**
 * Where widely used agents and packages derive a client's address, scheme or host wrongly, measured
 * on dd-trace 5.132.0, @sentry/core 11.12.0, request-ip 3.3.0, elastic-apm-node 4.18.0 with
 * @elastic/ecs-pino-format 1.5.0, pino's standard serializers and proxy-addr 2.0.8. Each row is one
 * of those requests, and what is right.
 */
import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';
import { describe, expect, test } from 'vitest';
import {
  type ClientAddressOptions,
  readClientAddressOptions,
  walkHops,
} from '../../src/capture/client-address.ts';
import { explainClientAddress } from '../../src/capture/explain-client-address.ts';
import { forwardedOrigin } from '../../src/capture/forwarded-origin.ts';
import type { HeadersLike } from '../../src/capture/request-like.ts';

interface Oddity {
  readonly whose: string;
  readonly oddity: string;
  readonly headers: HeadersLike;
  /** Default: the proxy 10.0.0.1, which is trusted. */
  readonly peer?: string;
  readonly options?: ClientAddressOptions;
  readonly right: string;
}

const PROXY = '10.0.0.1';
const forwardedFor = (value: string): HeadersLike => ({ 'x-forwarded-for': value });
const FORWARDED: ClientAddressOptions = { trustedProxies: PROXY, addressHeader: 'forwarded' };
const spoofed = (name: string): Oddity => ({
  whose: 'dd-trace, Sentry, request-ip',
  oddity: `${name} is believed, whoever sent it`,
  headers: { [name]: name === 'forwarded' ? 'for=6.6.6.6' : '6.6.6.6' },
  peer: '203.0.113.9',
  right: '203.0.113.9',
});

const ODDITIES: readonly Oddity[] = [
  {
    whose: 'dd-trace',
    oddity: 'the leftmost public address counts, which the client wrote',
    headers: forwardedFor('6.6.6.6, 1.2.3.4'),
    right: '1.2.3.4',
  },
  {
    whose: 'dd-trace',
    oddity: 'a public address that the client wrote counts more than its own private one',
    headers: forwardedFor('6.6.6.6, 192.168.7.7'),
    right: '192.168.7.7',
  },
  {
    whose: 'dd-trace',
    oddity: 'a mapped address in a header is cut to nothing and lost',
    headers: forwardedFor('::ffff:1.2.3.4'),
    right: '1.2.3.4',
  },
  {
    whose: 'dd-trace',
    oddity:
      '100.64.1.1 passes for public, as the list has 100.65.0.0/10: a carrier proxy is the client',
    headers: forwardedFor('203.0.113.9, 100.64.1.1'),
    options: { trustedProxies: ['uniquelocal', '100.64.0.0/10'] },
    right: '203.0.113.9',
  },
  {
    whose: 'dd-trace',
    oddity: 'the address of the socket is told as it is spelt',
    headers: {},
    peer: '::ffff:203.0.113.9',
    right: '203.0.113.9',
  },
  {
    whose: 'dd-trace',
    oddity: 'of several headers the first in a list counts, not the one that the proxy sets',
    headers: { 'x-forwarded-for': '6.6.6.6', 'cf-connecting-ip': '203.0.113.9' },
    options: { trustedProxies: PROXY, addressHeader: 'cf-connecting-ip' },
    right: '203.0.113.9',
  },
  {
    whose: 'Sentry',
    oddity: 'any x-client-ip wins over what the proxy says',
    headers: { 'x-client-ip': '6.6.6.6', ...forwardedFor('203.0.113.9') },
    right: '203.0.113.9',
  },
  {
    whose: 'Sentry',
    oddity: 'an address with a port is null',
    headers: forwardedFor('1.2.3.4:55'),
    right: '1.2.3.4',
  },
  {
    whose: 'Sentry',
    oddity: 'a mapped address is null',
    headers: forwardedFor('::ffff:1.2.3.4'),
    right: '1.2.3.4',
  },
  {
    whose: 'Sentry',
    oddity: 'a quoted node of Forwarded is null',
    headers: { forwarded: 'for="[2001:db8:cafe::17]:4711"' },
    options: FORWARDED,
    right: '2001:db8:cafe::17',
  },
  {
    whose: 'Elastic',
    oddity: 'the socket alone counts: every client is the proxy',
    headers: forwardedFor('203.0.113.9'),
    right: '203.0.113.9',
  },
  {
    whose: 'ECS formatter',
    oddity: 'a mapped address is kept',
    headers: {},
    peer: '::ffff:203.0.113.9',
    right: '203.0.113.9',
  },
  {
    whose: 'pino serializers',
    oddity: 'the socket is told as it is spelt',
    headers: forwardedFor('6.6.6.6'),
    peer: '::ffff:203.0.113.9',
    right: '203.0.113.9',
  },
  {
    whose: 'proxy-addr',
    oddity: 'mapped peer within a trusted IPv4 range (right in 2.0.8)',
    headers: forwardedFor('203.0.113.9'),
    peer: '::ffff:10.0.0.1',
    right: '203.0.113.9',
  },
  ...[
    'x-client-ip',
    'x-forwarded-for',
    'forwarded',
    'x-real-ip',
    'true-client-ip',
    'forwarded-for',
    'x-cluster-client-ip',
    'fastly-client-ip',
    'cf-connecting-ip',
    'cf-connecting-ipv6',
    'x-forwarded',
  ].map(spoofed),
];

describe.each(ODDITIES)('$whose: $oddity', ({ headers, peer = PROXY, options, right }) => {
  test(`here it is ${right}`, () => {
    const policy = readClientAddressOptions(options ?? { trustedProxies: '10.0.0.0/8' });
    const request = { headers, socket: { remoteAddress: peer } };
    expect(walkHops(request, policy).client?.address).toBe(right);
  });
});

describe('proxy-addr gives the token as it was written; here it is an address or the proxy', () => {
  test.each([
    ['a port', '1.2.3.4:5555', '1.2.3.4'],
    ['brackets', '[2001:db8::1]', '2001:db8::1'],
    ['brackets and a port', '[2001:db8::1]:5555', '2001:db8::1'],
    ['unknown', 'unknown', PROXY],
    ['octal', '0300.0250.1.1', PROXY],
    ['a zone id', 'fe80::7%eth0', 'fe80::7'],
    ['a mapped address', '::ffff:203.0.113.9', '203.0.113.9'],
  ])('%s: %s is %s', (_, token, right) => {
    const request = {
      headers: forwardedFor(`6.6.6.6, ${token}`),
      socket: { remoteAddress: PROXY },
    };
    expect(proxyAddr(request as unknown as IncomingMessage, [PROXY])).toBe(token);
    const policy = readClientAddressOptions({ trustedProxies: PROXY });
    expect(walkHops(request, policy).client?.address).toBe(right);
  });

  test('an octal form that it takes for a trusted proxy does not lead to what the client wrote', () => {
    const headers = forwardedFor('6.6.6.6, 012.0.0.2');
    const request = { headers, socket: { remoteAddress: PROXY } };
    const trustedProxies = '10.0.0.0/8';
    expect(proxyAddr(request as unknown as IncomingMessage, [trustedProxies])).toBe('6.6.6.6');
    const policy = readClientAddressOptions({ trustedProxies });
    expect(walkHops(request, policy).client?.address).toBe(PROXY);
  });

  test.each(['0.0.0.0/0', '::/0', '::ffff:0:0/96'])(
    'trusting everybody, which gives what the client wrote, is refused as %s',
    (trustedProxies) => {
      expect(() => readClientAddressOptions({ trustedProxies })).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['trustedProxies'] }),
      );
    },
  );
});

interface OriginOddity {
  readonly whose: string;
  readonly oddity: string;
  readonly headers: HeadersLike;
  readonly peer: string;
  readonly right: { readonly scheme: string; readonly host: string; readonly port: number };
}

const ORIGIN_ODDITIES: readonly OriginOddity[] = [
  {
    whose: 'ECS formatter',
    oddity: 'an IPv6 host is the domain "["',
    headers: { host: '[2001:db8::1]:8080' },
    peer: '203.0.113.9',
    right: { scheme: 'http', host: '[2001:db8::1]', port: 8080 },
  },
  {
    whose: 'dd-trace',
    oddity: 'the scheme is that of the socket alone',
    headers: { host: 'a.example', 'x-forwarded-proto': 'https' },
    peer: PROXY,
    right: { scheme: 'https', host: 'a.example', port: 443 },
  },
  {
    whose: 'dd-trace',
    oddity: 'the Host header is told verbatim, port included',
    headers: { host: 'A.example:8080' },
    peer: '203.0.113.9',
    right: { scheme: 'http', host: 'a.example', port: 8080 },
  },
  {
    whose: 'Elastic',
    oddity: 'forwarded scheme, host and port are believed of anybody',
    headers: {
      host: 'a.example',
      forwarded: 'proto=https;host=evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-port': '6666',
    },
    peer: '203.0.113.9',
    right: { scheme: 'http', host: 'a.example', port: 80 },
  },
  {
    whose: 'Elastic',
    oddity: 'the leftmost of forwarded values counts, which the client wrote',
    headers: {
      ...forwardedFor('203.0.113.9'),
      host: 'inner',
      'x-forwarded-proto': 'http, https',
      'x-forwarded-host': 'evil.example, a.example',
      'x-forwarded-port': '6666, 443',
    },
    peer: PROXY,
    right: { scheme: 'https', host: 'a.example', port: 443 },
  },
];

describe.each(ORIGIN_ODDITIES)('$whose: $oddity', ({ headers, peer, right }) => {
  test('here it is right', () => {
    const policy = readClientAddressOptions({ trustedProxies: PROXY });
    const request = { headers, socket: { remoteAddress: peer } };
    expect(forwardedOrigin(request, policy, walkHops(request, policy))).toEqual(right);
  });
});

test('ECS formatter: all headers are told, authorization too; here only those of addresses are', () => {
  const headers = { ...forwardedFor('203.0.113.9'), authorization: 'Bearer of-a-secret' };
  const request = { headers, socket: { remoteAddress: PROXY } };
  const explanation = explainClientAddress(request, { trustedProxies: PROXY });
  expect(JSON.stringify(explanation)).not.toContain('of-a-secret');
});
