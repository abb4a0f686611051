import { describe, expect, test } from 'vitest';
import {
  type ClientAddressOptions,
  readClientAddressOptions,
  walkHops,
} from '../../../src/capture/client-address/client-address.ts';
import { forwardedOrigin } from '../../../src/capture/client-address/forwarded-origin.ts';
import type { HeadersLike, RequestLike } from '../../../src/capture/request/request-like.ts';

const originOf = (request: RequestLike, options: ClientAddressOptions): string => {
  const policy = readClientAddressOptions(options);
  const { scheme, host, port } = forwardedOrigin(request, policy, walkHops(request, policy));
  return `${scheme} ${host} ${port}`;
};

const request = (headers: HeadersLike, encrypted?: boolean): RequestLike => ({
  headers,
  socket: { remoteAddress: '10.0.0.1', encrypted },
});
const TRUSTED = { trustedProxies: '10.0.0.0/8' };
const FORWARDED = { ...TRUSTED, addressHeader: 'forwarded' };

describe('without a trusted peer', () => {
  test.each<[HeadersLike, boolean | undefined, string]>([
    [{ host: 'a.example' }, undefined, 'http a.example 80'],
    [{ host: 'a.example' }, true, 'https a.example 443'],
    [{ host: 'A.Example:8080' }, false, 'http a.example 8080'],
    [{ host: 'a.example:' }, false, 'http a.example 80'],
    [{ host: 'a.example:65536' }, false, 'http a.example 80'],
    [{ host: 'my_service' }, false, 'http my_service 80'],
    // D19
    [{}, false, 'http  80'],
    // None of these is a host, so none is reported as one.
    [{ host: 'a.example/../b' }, false, 'http  80'],
    [{ host: 'a.example:123456' }, false, 'http  80'],
    [{ host: 'a'.repeat(256) }, false, 'http  80'],
    [{ host: '[2001:db8::1' }, false, 'http  80'],
    [{ host: '[2001:db8::1::2]' }, false, 'http  80'],
    [{ host: '2001:db8::1' }, false, 'http  80'],
    // HTTP/2
    [{ ':authority': 'a.example:8443', ':scheme': 'https' }, true, 'https a.example 8443'],
    [{ ':authority': 'a.example', host: 'b.example' }, true, 'https a.example 443'],
    [{ ':authority': 'a.example', ':scheme': 'https' }, false, 'http a.example 80'],
  ])('%j (TLS: %j) is %s, and forwarded values are ignored', (headers, encrypted, expected) => {
    const forged: HeadersLike = {
      ...headers,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-port': '6666',
      forwarded: 'for=6.6.6.6;proto=https;host=evil.example',
    };
    expect(originOf(request(forged, encrypted), {})).toBe(expected);
    expect(originOf(request(forged, encrypted), { addressHeader: 'forwarded' })).toBe(expected);
    const elsewhere = { trustedProxies: '192.0.2.0/24' };
    expect(originOf(request(forged, encrypted), elsewhere)).toBe(expected);
  });

  // ECS's formatter makes the domain "[" of it.
  test.each([
    ['[2001:DB8::1]', 'http [2001:db8::1] 80'],
    ['[2001:db8::1]:8080', 'http [2001:db8::1] 8080'],
    ['[::ffff:203.0.113.9]:8080', 'http [::ffff:203.0.113.9] 8080'],
  ])('the IPv6 host %s is reported whole', (host, expected) => {
    expect(originOf(request({ host }), {})).toBe(expected);
  });

  test.each<[HeadersLike, string]>([
    [{ ':scheme': 'https', ':authority': 'a.example' }, 'https a.example 443'],
    [{ ':scheme': 'gopher', ':authority': 'a.example' }, 'http a.example 80'],
  ])('%j without a connection is %s', (headers, expected) => {
    expect(originOf({ headers }, {})).toBe(expected);
  });
});

describe('from a trusted peer', () => {
  const FOR_ONE = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9', host: 'inner:3000' };
  const FOR_TWO = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 10.0.0.2', host: 'inner:3000' };

  test.each<[HeadersLike, string]>([
    [{ ...FOR_ONE }, 'http inner 3000'],
    [{ ...FOR_ONE, 'x-forwarded-proto': 'HTTPS', host: 'a.example' }, 'https a.example 443'],
    [{ ...FOR_ONE, 'x-forwarded-proto': 'wss' }, 'https inner 3000'],
    [{ ...FOR_ONE, 'x-forwarded-proto': '__proto__' }, 'http inner 3000'],
    [{ ...FOR_ONE, 'x-forwarded-host': 'a.example:8080' }, 'http a.example 8080'],
    [{ ...FOR_ONE, 'x-forwarded-host': 'a b' }, 'http inner 3000'],
    [{ ...FOR_ONE, 'x-forwarded-port': '8443' }, 'http inner 8443'],
    [{ ...FOR_ONE, 'x-forwarded-port': '0' }, 'http inner 3000'],
    [
      { ...FOR_ONE, 'x-forwarded-host': 'a.example:1', 'x-forwarded-port': '2' },
      'http a.example 2',
    ],
    // The value of the proxy that the client reached: not what the client wrote, nor what proxies
    // said of each other.
    [{ ...FOR_ONE, 'x-forwarded-proto': 'http, https' }, 'https inner 3000'],
    [{ ...FOR_ONE, 'x-forwarded-host': 'evil.example, a.example' }, 'http a.example 80'],
    [{ ...FOR_ONE, 'x-forwarded-port': '6666, 8443' }, 'http inner 8443'],
    [{ ...FOR_TWO, 'x-forwarded-host': 'evil.example, a.example, b.example' }, 'http a.example 80'],
    [{ ...FOR_TWO, 'x-forwarded-proto': ['http', 'https', 'http'] }, 'https inner 3000'],
    // Replaced instead of added to.
    [{ ...FOR_TWO, 'x-forwarded-proto': 'https' }, 'https inner 3000'],
    // A proxy that names no client still reports its own connection.
    [{ host: 'inner:3000', 'x-forwarded-proto': 'http, https' }, 'https inner 3000'],
    [
      {
        host: 'inner:3000',
        'x-forwarded-for': '6.6.6.6, unknown',
        'x-forwarded-proto': 'http, https',
      },
      'https inner 3000',
    ],
    // The other kind of header has no say.
    [{ ...FOR_ONE, forwarded: 'for=6.6.6.6;proto=https;host=evil.example' }, 'http inner 3000'],
    // HTTP/2 from a proxy that ends TLS.
    [{ ':authority': 'a.example', ':scheme': 'https' }, 'https a.example 443'],
    [{ ':authority': 'a', ':scheme': 'https', 'x-forwarded-proto': 'http' }, 'http a 80'],
  ])('%j is %s', (headers, expected) => {
    expect(originOf(request(headers), TRUSTED)).toBe(expected);
  });

  test.each<[HeadersLike, string]>([
    [{ forwarded: 'for=203.0.113.9;proto=https;host="a.example:8443"' }, 'https a.example 8443'],
    [{ forwarded: 'for=203.0.113.9;Proto=HTTPS;Host="[2001:db8::1]:1"' }, 'https [2001:db8::1] 1'],
    [{ forwarded: 'for=6.6.6.6;proto=https, for=203.0.113.9;host=a.example' }, 'http a.example 80'],
    [
      { forwarded: 'for=6.6.6.6;host=evil, for=203.0.113.9;proto=https, for=10.0.0.2;host=b' },
      'https inner 3000',
    ],
    [{ forwarded: 'proto=https;host=a.example' }, 'https a.example 443'],
    [{ forwarded: 'for=unknown;proto=https' }, 'https inner 3000'],
    [{ forwarded: 'for=203.0.113.9;proto=https;proto=http' }, 'http inner 3000'],
    [{ forwarded: '' }, 'http inner 3000'],
    [
      { forwarded: 'for=203.0.113.9', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil' },
      'http inner 3000',
    ],
  ])('%j in Forwarded is %s', (headers, expected) => {
    expect(originOf(request({ host: 'inner:3000', ...headers }), FORWARDED)).toBe(expected);
  });

  test('a connection with TLS is https unless the proxy says otherwise', () => {
    expect(originOf(request(FOR_ONE, true), TRUSTED)).toBe('https inner 3000');
    const plain = { ...FOR_ONE, 'x-forwarded-proto': 'http' };
    expect(originOf(request(plain, true), TRUSTED)).toBe('http inner 3000');
  });
});
