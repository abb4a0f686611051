import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CaptureOptions, type HttpRequest, identify } from '../../../src/capture/index.ts';
import { readCaptureOptions } from '../../../src/capture/request/capture-options.ts';
import { createRequestCapture, scopeOf } from '../../../src/capture/request/request-capture.ts';
import { currentContext, runInScope } from '../../../src/capture/request/request-scope.ts';
import { deepFreeze } from '../../../src/contract/frozen.ts';
import { contract, type Dialect, VERBS } from '../../../src/contract/index.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { anyValue } from '../../helpers/any-value.ts';
import { smallRecord } from '../../helpers/log-records.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';

const REQUEST: HttpRequest = {
  method: 'POST',
  url: '/a/b?q=1',
  headers: { host: 'shop.example', 'content-type': 'application/json', 'user-agent': 'a test' },
  socket: { remoteAddress: '8.8.8.8', remotePort: 4711 },
  body: { a: 1 },
  params: { id: '7' },
};

const contextOf = (request: HttpRequest, options?: CaptureOptions) =>
  createRequestCapture(options).contextOf(request);

const accepts = (dialect: Dialect, context: object): boolean => {
  const { service } = smallRecord().context;
  const record = { ...smallRecord(), context: { ...context, service } };
  return contract({ dialect }).LogRecord.safeParse(record).success;
};

describe('the context of a request', () => {
  test('redacts the path if a secret route parameter cannot be read', () => {
    let looks = 0;
    const params = new Proxy(
      { token: 'sesame' },
      {
        getOwnPropertyDescriptor: (target, name) => {
          looks += 1;
          // The names are listed before the value is read.
          if (looks > 1) throw new Error('of a trap');
          return Reflect.getOwnPropertyDescriptor(target, name);
        },
      },
    );
    const { http } = contextOf({ ...REQUEST, url: '/reset/sesame', params }, { parameters: false });
    expect(http.request).toMatchObject({ path: '/[redacted]' });
  });

  test.each([
    ['/reset/sesame/a', { token: 'sesame' }, '/reset/[redacted]/a'],
    ['/reset/sesame/a', { token: ['reset', 'sesame'] }, '/[redacted]/[redacted]/a'],
    ['/reset/sesame/a', { token: 'reset/sesame' }, '/[redacted]/[redacted]/a'],
    ['/reset/sesame/a', { id: 'sesame' }, '/reset/sesame/a'],
    ['/reset/sesame/a', { token: '', pin: 7, password: null }, '/reset/sesame/a'],
    ['/reset/sesame/a', Object.create({ token: 'sesame' }), '/reset/sesame/a'],
  ])('redacts secret route parameters in the path: %s with %j', (url, params, path) => {
    for (const options of [{}, { parameters: false } as const]) {
      expect(contextOf({ ...REQUEST, url, params }, options).http.request).toMatchObject({ path });
    }
  });

  test('has all fields of the contract', () => {
    expect(contextOf(REQUEST)).toEqual({
      actor: {
        identifiers: null,
        ip: {
          address: '8.8.8.8',
          geo: {},
          metadata: {
            datacenter: null,
            global: true,
            loopback: false,
            multicast: false,
            network_type: 'public',
            private: false,
            proxy: false,
            reserved: false,
            tor: false,
            unspecified: false,
            version: 4,
            vpn: false,
          },
        },
        svc_identifier: null,
      },
      http: {
        request: {
          host: 'shop.example',
          parameters: { query: { q: '1' }, json: { a: 1 }, other: { params: { id: '7' } } },
          path: '/a/b',
          port: 80,
          referer: null,
          remote_ip: '8.8.8.8',
          remote_port: '4711',
          scheme: 'http',
          user_agent: 'a test',
          verb: 'POST',
        },
        response: { blocked: false },
      },
    });
  });

  test('is the same for a deeply frozen request', () => {
    expect(contextOf(deepFreeze(structuredClone(REQUEST)))).toEqual(contextOf(REQUEST));
  });

  test('has the facts of the enrichment', () => {
    const enrichment = { factsOf: () => ({ tor: true }), stats: async () => [] };
    expect(contextOf(REQUEST, { enrichment }).actor.ip?.metadata).toMatchObject({ tor: true });
  });

  test('is redacted in parameters, path and user agent', () => {
    const jwt = `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(43)}`;
    const url = `/reset/${jwt}?color=red`;
    const headers = { 'user-agent': `a bot ${jwt}` };
    const redaction = { sensitiveKeys: ['color'] };
    expect(contextOf({ url, headers }, { redaction }).http.request).toMatchObject({
      parameters: { query: { color: '[redacted]' } },
      path: '/reset/[redacted]',
      user_agent: 'a bot [redacted]',
    });
  });

  const PARTS = 'method url originalUrl headers socket body params'.split(' ');
  const THROWING = PARTS as readonly (keyof HttpRequest)[];

  test.each(THROWING)('is built without %s if its getter throws', (name) => {
    const { [name]: _, ...rest } = REQUEST;
    const request = Object.defineProperty({ ...rest }, name, {
      get: () => {
        throw new Error('of the host');
      },
    });
    const expected = contextOf({ ...rest, headers: name === 'headers' ? {} : REQUEST.headers });
    expect(contextOf(request as HttpRequest)).toEqual(expected);
    expect(createRequestCapture().run(request as HttpRequest, currentContext)).toEqual(expected);
  });
});

const texts = fc.string({ unit: anyCharacter, maxLength: 30 });
/** Not fast-check's own: its escapes need the table that `anyCharacter` does without. */
const webUrls = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.webAuthority({ withPort: true, withUserInfo: false }),
    fc.array(fc.oneof(fc.string(), texts).map(encodeURIComponent)),
    fc.option(fc.oneof(fc.string(), texts).map(encodeURI)),
  )
  .map(([scheme, authority, segments, query]) =>
    [`${scheme}://${authority}`, ...segments].join('/').concat(query === null ? '' : `?${query}`),
  );
const anything = anyValue();
const FORWARDED = ['for', 'proto', 'host', 'port'].map((name) => `x-forwarded-${name}`);
const HEADERS = ['host', 'user-agent', 'content-type', 'forwarded', ':authority', ...FORWARDED];
const headers = fc.dictionary(
  fc.constantFrom(...HEADERS),
  fc.oneof(texts, fc.array(texts, { maxLength: 3 }), fc.ipV4(), fc.ipV6(), anything),
);
const ports = fc.oneof(fc.integer({ min: -1, max: 70_000 }), anything);
const options = fc.constantFrom<CaptureOptions>(
  {},
  { trustedProxies: 1 },
  { trustedProxies: () => true, addressHeader: 'forwarded' },
  { parameters: false },
);

describe('any request', () => {
  test('gives a record that the open dialect accepts', () => {
    const requests = fc.record(
      {
        method: fc.oneof(texts, anything),
        url: fc.oneof(texts, webUrls, anything),
        originalUrl: fc.oneof(texts, anything),
        headers: fc.oneof(headers, anything),
        socket: fc.oneof(
          fc.record({ remoteAddress: fc.oneof(fc.ipV4(), fc.ipV6(), anything), remotePort: ports }),
          anything,
        ),
        body: anything,
        params: anything,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(requests, options, (request, given) => {
        expect(accepts('open', contextOf(request as unknown as HttpRequest, given))).toBe(true);
      }),
      { numRuns: quickOrNightly(100, 300) },
    );
  });

  test('gives a record that the strict dialect accepts, for an IPv4 client and a known verb', () => {
    const requests = fc.record(
      {
        method: fc.constantFrom(...VERBS),
        url: texts,
        headers: headers.map((given) => ({ ...given, 'x-forwarded-for': '203.0.113.9' })),
        socket: fc.record({ remoteAddress: fc.ipV4(), remotePort: ports }),
        body: anything,
        params: anything,
      },
      { requiredKeys: ['headers', 'socket'] },
    );
    const trusting = fc.constantFrom<CaptureOptions>({}, { trustedProxies: 1 });
    fc.assert(
      fc.property(requests, trusting, (request, given) => {
        expect(accepts('strict', contextOf(request as HttpRequest, given))).toBe(true);
      }),
      { numRuns: quickOrNightly(100, 300) },
    );
  });
});

describe('a captured run', () => {
  test('returns the result of its work, which finds the context', async () => {
    const capture = createRequestCapture();
    const late = capture.run(REQUEST, async () => {
      identify({ uid: 7 });
      await wait(1);
      return currentContext();
    });
    expect(currentContext()).toEqual({});
    const { actor, http } = contextOf(REQUEST);
    expect(await late).toEqual({ actor: { ...actor, identifiers: { uid: 7 } }, http });
  });

  test('throws the error of its work', () => {
    const boom = new Error('of the application');
    const work = (): never => {
      throw boom;
    };
    expect(() => createRequestCapture().run(REQUEST, work)).toThrow(boom);
  });

  test('reads the status for each event', () => {
    let status: number | undefined;
    const seen: unknown[] = [];
    const work = (): void => {
      for (status of [undefined, 200, 200, 503]) seen.push(currentContext().http?.response.status);
    };
    createRequestCapture().run(REQUEST, work, () => status);
    expect(seen).toEqual([undefined, 200, 200, 503]);
  });

  test('reads the head once, and the parameters again after a parser ran', () => {
    let heads = 0;
    const trustedProxies = (): boolean => {
      heads += 1;
      return false;
    };
    const request: { -readonly [K in keyof HttpRequest]: HttpRequest[K] } = {
      ...REQUEST,
      body: undefined,
      params: {},
    };
    const scope = scopeOf(request, readCaptureOptions({ trustedProxies }), {});
    expect(heads).toBe(0);
    const parameters = (): unknown => runInScope(scope, currentContext).http?.request.parameters;
    expect(parameters()).toEqual({ query: { q: '1' } });
    request.body = { a: 1 };
    expect(parameters()).toEqual({ query: { q: '1' }, json: { a: 1 } });
    request.params = { id: '7' };
    const all = parameters();
    expect(all).toEqual({ query: { q: '1' }, json: { a: 1 }, other: { params: { id: '7' } } });
    expect(parameters()).toBe(all);
    expect(heads).toBe(1);
  });
});
