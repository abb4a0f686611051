import { describe, expect, test } from 'vitest';
import {
  type CaptureOptions,
  readCaptureOptions,
} from '../../../src/capture/request/capture-options.ts';
import {
  type HttpRequest,
  readHead,
  readParameters,
} from '../../../src/capture/request/http-request.ts';

const head = (request: Partial<HttpRequest>, options?: CaptureOptions) =>
  readHead({ headers: {}, ...request }, readCaptureOptions(options));

const facts = (request: Partial<HttpRequest>, options?: CaptureOptions) =>
  head(request, options).request;

function parameters(given: Partial<HttpRequest>, options?: CaptureOptions): unknown {
  const request = { headers: {}, ...given };
  return readParameters(request, request, readCaptureOptions(options));
}

describe('the head of a request', () => {
  test('has a default for each field', () => {
    const { ip, request } = head({});
    expect(request).toEqual({
      host: '',
      path: '',
      port: 80,
      referer: null,
      remote_ip: '0.0.0.0',
      remote_port: '1',
      scheme: 'http',
      user_agent: '',
      verb: 'GET',
    });
    expect(ip).toMatchObject({ address: '0.0.0.0', metadata: { unspecified: true } });
  });

  test.each([
    ['a Unix socket', {}],
    ['an address that is none', { remoteAddress: 'unknown', remotePort: 0 }],
    ['no socket', null],
  ])('has the unspecified address and port 1 for %s', (_of, socket) => {
    expect(facts({ socket })).toMatchObject({ remote_ip: '0.0.0.0', remote_port: '1' });
  });

  test.each([
    [{ method: 'PROPFIND' }, 'PROPFIND'],
    [{ method: '' }, 'GET'],
    [{ method: 'A\nB' }, 'A␊B'],
    [{ method: 'X'.repeat(33) }, 'X'.repeat(32)],
  ])('has the verb of %j: %s', (request, verb) => {
    expect(facts(request as Partial<HttpRequest>).verb).toBe(verb);
  });

  test.each([
    [{ url: '/a?b' }, '/a'],
    [{ url: '/rewritten', originalUrl: '/mounted/as/it/came' }, '/mounted/as/it/came'],
    [{ url: '/a', originalUrl: 7 }, '/a'],
    [{}, ''],
  ])('has the path of %j: %s', (request, path) => {
    expect(facts(request as Partial<HttpRequest>).path).toBe(path);
  });

  const PROXY = { remoteAddress: '10.0.0.5', remotePort: 4000 };
  test.each([
    ['of the client', '203.0.113.9:4711', '4711'],
    ['of the connection if the proxy names none', '203.0.113.9', '4000'],
  ])('has the port %s', (_of, forwarded, port) => {
    const request = { socket: PROXY, headers: { 'x-forwarded-for': forwarded } };
    expect(facts(request, { trustedProxies: 1 })).toMatchObject({
      remote_ip: '203.0.113.9',
      remote_port: port,
    });
    expect(facts(request)).toMatchObject({ remote_ip: '10.0.0.5', remote_port: '4000' });
  });
});

const fail = (): never => {
  throw new Error('of the host');
};

describe('the parameters of a request', () => {
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x' };

  test.each<[string, Partial<HttpRequest>, unknown]>([
    ['nothing', {}, undefined],
    ['an empty query', { url: '/?' }, undefined],
    ['params of a router without any', { params: {} }, undefined],
    ['params that are null', { params: null }, undefined],
    ['a body that is null', { body: null }, undefined],
    ['Express 4’s empty body', { headers: { 'content-type': 'text/plain' }, body: {} }, undefined],
    ['the original query', { url: '/', originalUrl: '/a?b=1' }, { query: { b: '1' } }],
    ['a form', { headers: FORM, body: { a: '1' } }, { form: { a: '1' } }],
    ['the text of a form', { headers: FORM, body: 'a=1' }, { form: { a: '1' } }],
    ['the text of a multipart form', { headers: MULTIPART, body: 'a=1' }, undefined],
    ['a parsed multipart form', { headers: MULTIPART, body: { a: '1' } }, { form: { a: '1' } }],
    ['text', { body: 'raw', params: {} }, { other: { body: 'raw' } }],
    ['false', { body: false }, { other: { body: false } }],
    [
      'a body beside params',
      { body: 'raw', params: { id: '7' } },
      { other: { params: { id: '7' }, body: 'raw' } },
    ],
  ])('are those of %s', (_of, request, expected) => {
    expect(parameters(request)).toEqual(expected);
  });

  test.each([
    ['application/x-www-form-urlencoded; charset=utf-8', 'form'],
    ['Multipart/Form-Data; boundary=x', 'form'],
    [' APPLICATION/JSON ;charset=utf-8', 'json'],
    ['application/problem+json', 'json'],
    ['application/vnd.a.b+c+json', 'json'],
    ['application/jsonp', 'other'],
    ['application/xjson', 'other'],
    ['text/json', 'other'],
    [undefined, 'other'],
  ])('have a body of the type %j in %s', (type, place) => {
    const read = parameters({ headers: { 'content-type': type }, body: { a: 1 } });
    expect(read).toEqual({ [place]: place === 'other' ? { body: { a: 1 } } : { a: 1 } });
  });

  test('mark params that cannot be listed', () => {
    const params = new Proxy({}, { ownKeys: fail });
    expect(parameters({ url: '/?a=1', params })).toEqual({
      query: { a: '1' },
      other: { params: '[unreadable]' },
    });
  });

  test('are not read with parameters: false', () => {
    expect(parameters({ url: '/?a=1' }, { parameters: false })).toBeUndefined();
  });
});
