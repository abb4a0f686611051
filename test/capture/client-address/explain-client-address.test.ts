import { describe, expect, test } from 'vitest';
import { explainClientAddress } from '../../../src/capture/client-address/explain-client-address.ts';
import type { HeadersLike, RequestLike } from '../../../src/capture/request/request-like.ts';

const request = (headers: HeadersLike, remoteAddress = '10.0.0.1'): RequestLike => ({
  headers,
  socket: { remoteAddress, remotePort: 4711 },
});
const TEN = { trustedProxies: '10.0.0.0/8' };
const textOf = (given: RequestLike, options = {}) => explainClientAddress(given, options).text;

describe('explainClientAddress', () => {
  test('explains for each hop which address was trusted and why', () => {
    const headers = {
      'x-forwarded-for': '6.6.6.6, [2001:DB8::9]:4711, 10.0.0.2',
      'x-client-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
    };
    expect(textOf(request(headers, '::ffff:10.0.0.1'), TEN).split('\n')).toEqual([
      'The client address is 2001:db8::9 (hop 2, x-forwarded-for).',
      '- hop 0, socket: "::ffff:10.0.0.1" is 10.0.0.1: a trusted proxy, so the next hop is read from its header',
      '- hop 1, x-forwarded-for: "10.0.0.2": a trusted proxy, so the next hop is read from its header',
      '- hop 2, x-forwarded-for: "[2001:DB8::9]:4711" is 2001:db8::9: not a trusted proxy, so it is the client; everything further left may be forged',
      'Ignored: forwarded, x-client-ip.',
    ]);
  });

  test('returns the same as data', () => {
    const headers = {
      'x-forwarded-for': '6.6.6.6, 203.0.113.9:55, 10.0.0.2',
      'x-real-ip': '6.6.6.6',
    };
    const source = 'x-forwarded-for';
    const [peer, proxy, client] = [
      { hop: 0, source: 'socket', token: '10.0.0.1', address: '10.0.0.1', port: 4711 },
      { hop: 1, source, token: '10.0.0.2', address: '10.0.0.2', port: undefined },
      { hop: 2, source, token: '203.0.113.9:55', address: '203.0.113.9', port: 55 },
    ];
    expect(explainClientAddress(request(headers), TEN)).toEqual({
      client: { address: '203.0.113.9', port: 55, hop: 2, source },
      header: 'x-forwarded-for',
      hops: [
        { ...peer, verdict: 'trusted' },
        { ...proxy, verdict: 'trusted' },
        { ...client, verdict: 'untrusted' },
      ],
      ignored: ['x-real-ip'],
      text: expect.any(String),
    });
  });

  test.each<[string, string]>([
    ['unknown', '"unknown": the proxy does not know the address (RFC 7239 6.2)'],
    [','.repeat(64), '"": more than 64 elements, so the rest is not read'],
  ])('explains a refused hop and its effect (%#)', (token, why) => {
    expect(textOf(request({ 'x-forwarded-for': token }), TEN).split('\n')).toEqual([
      'The client address is 10.0.0.1 (hop 0, socket).',
      expect.stringMatching(/^- hop 0, socket: "10\.0\.0\.1": a trusted proxy/),
      `- hop 1, x-forwarded-for: ${why}`,
      '- so the last trusted hop that has an address counts as the client',
    ]);
  });

  test('says if the header names no further hop', () => {
    expect(textOf(request({}), TEN).split('\n').at(-1)).toBe(
      '- x-forwarded-for names no further hop, so the last one is the client',
    );
  });

  test('names the ignored header of an untrusted peer once', () => {
    const headers = { 'x-real-ip': '6.6.6.6', 'x-forwarded-for': '6.6.6.6', forwarded: 'for=_a' };
    expect(explainClientAddress(request(headers), { addressHeader: 'X-Real-IP' })).toMatchObject({
      header: 'x-real-ip',
      ignored: ['x-real-ip', 'x-forwarded-for', 'forwarded'],
    });
    expect(textOf(request(headers)).split('\n')).toEqual([
      'The client address is 10.0.0.1 (hop 0, socket).',
      '- hop 0, socket: "10.0.0.1": not a trusted proxy, so it is the client; everything further left may be forged',
      'Ignored: x-forwarded-for, forwarded, x-real-ip.',
    ]);
  });

  test('says if the client is not known', () => {
    expect(textOf({ headers: {} }).split('\n')).toEqual([
      'The client address is not known.',
      '- hop 0, socket: "": no address, and only a `trustedProxies` number can trust such a peer',
    ]);
  });

  test.each<[string, HeadersLike, readonly string[]]>([
    ['no header', {}, ['- x-forwarded-for names no further hop']],
    [
      'an unknown address',
      { 'x-forwarded-for': 'unknown' },
      ['- hop 1, x-forwarded-for: "unknown": the proxy does not know the address (RFC 7239 6.2)'],
    ],
  ])('names no client behind a trusted Unix socket with %s', (_what, headers, end) => {
    expect(textOf({ headers, socket: {} }, { trustedProxies: 1 }).split('\n')).toEqual([
      'The client address is not known.',
      '- hop 0, socket: "": a trusted proxy, so the next hop is read from its header',
      ...end,
    ]);
  });

  test('shows a header on one line, shortened, and no other header', () => {
    const headers = {
      'x-forwarded-for': `\n\u001b[31m\u00e9\ud800${'x'.repeat(100)}`,
      authorization: 'Bearer secret',
      cookie: 'secret',
    };
    const text = textOf(request(headers), TEN);
    expect(text.split('\n')[2]).toBe(
      `- hop 1, x-forwarded-for: "\\n\\u001b[31m\\u00e9\\ud800${'x'.repeat(72)}…": not an IP address that net.isIP accepts`,
    );
    expect(text).not.toContain('secret');
  });
});
