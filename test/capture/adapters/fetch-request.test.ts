import { describe, expect, test } from 'vitest';
import { createRequestCapture, fetchRequest } from '../../../src/capture/index.ts';

const requestOf = (...given: Parameters<typeof fetchRequest>) =>
  createRequestCapture({ trustedProxies: '10.0.0.0/8' }).contextOf(fetchRequest(...given)).http
    .request;

describe('fetchRequest', () => {
  test('adapts a Fetch request and the details of its runtime', () => {
    const request = new Request('https://shop.example/a/7?b=c#d', {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'a test',
        'x-forwarded-for': '203.0.113.9',
      },
      body: '{"read":"never"}',
    });
    const details = {
      remoteAddress: '10.0.0.1',
      remotePort: 4711,
      body: { parsed: true },
      params: { id: '7' },
    };
    expect(requestOf(Object.freeze(request), Object.freeze(details))).toEqual({
      host: 'shop.example',
      parameters: { query: { b: 'c' }, json: { parsed: true }, other: { params: { id: '7' } } },
      path: '/a/7',
      port: 443,
      referer: null,
      remote_ip: '203.0.113.9',
      remote_port: '4711',
      scheme: 'https',
      user_agent: 'a test',
      verb: 'PUT',
    });
    expect(request.bodyUsed).toBe(false);
  });

  test.each([
    ['http://shop.example:81/', undefined, { scheme: 'http', host: 'shop.example', port: 81 }],
    ['https://[2001:db8::7]/', undefined, { scheme: 'https', host: '[2001:db8::7]', port: 443 }],
    ['HTTPS://shop.example?q', undefined, { scheme: 'https', host: 'shop.example', path: '/' }],
    ['http://ada:pw@shop.example/', undefined, { host: 'shop.example', port: 80 }],
    ['http://inner:3000/', 'shop.example', { host: 'shop.example', port: 80 }],
    ['/relative', undefined, { scheme: 'http', host: '', path: '/relative' }],
  ])('reads %s with the header host %s as %j', (url, host, expected) => {
    const headers = new Headers(host === undefined ? {} : { host });
    expect(requestOf({ method: 'GET', url, headers })).toMatchObject(expected);
  });

  test('has no peer by default, and reads the headers once, for the first event', () => {
    let reads = 0;
    const request = {
      method: 'GET',
      url: 'http://shop.example/',
      get headers() {
        reads += 1;
        return new Headers({ 'user-agent': 'a test' });
      },
    };
    const made = fetchRequest(request);
    expect(reads).toBe(0);
    const { actor, http } = createRequestCapture().contextOf(made);
    expect(reads).toBe(1);
    expect(actor.ip?.address).toBe('0.0.0.0');
    expect(http.request).toMatchObject({ remote_port: '1', user_agent: 'a test' });
    expect(http.request).not.toHaveProperty('parameters');
  });
});
