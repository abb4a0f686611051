import { describe, expect, test, vi } from 'vitest';
import {
  captureRequests,
  type LambdaCaptureOptions,
  type LambdaEvent,
  type LambdaProxyEvent,
} from '../../../src/capture/adapters/lambda.ts';
import { blockRequest, currentContext, RequestBlockedError } from '../../../src/capture/index.ts';
import { LogRecord } from '../../../src/contract/index.ts';
import { balancerEvent, context, event, proxyEvent } from '../../helpers/lambda-events.ts';
import { smallRecord } from '../../helpers/log-records.ts';

type Seen = ReturnType<typeof currentContext>;

const contextOf = async (
  given: LambdaEvent | LambdaProxyEvent,
  options?: LambdaCaptureOptions,
): Promise<Seen> => (await captureRequests(currentContext, options)(given, context())) as Seen;

const parametersOf = async (more: Partial<LambdaEvent>) =>
  (await contextOf(event(more))).http?.request.parameters;

describe('a Lambda function', () => {
  test('has the context of its request in the contract’s form', async () => {
    const { actor, http } = await contextOf(event());
    const { service } = smallRecord().context;
    const record = { ...smallRecord(), context: { actor, http, service } };
    expect(LogRecord.parse(record).context).toEqual(record.context);
    expect(http?.request).toMatchObject({
      host: 'id.execute-api.eu-west-1.amazonaws.com',
      parameters: {
        query: { q: '1', token: '[redacted]' },
        json: { search: 'shoes', password: '[redacted]' },
        other: { params: { id: '7' } },
      },
      path: '/users/7',
      port: 443,
      scheme: 'https',
      user_agent: 'a test',
      verb: 'POST',
    });
    expect(actor?.ip?.address).toBe('203.0.113.9');
  });

  test('reads bodies in base64, and forms', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = Buffer.from('a=1&a=2&secret=x').toString('base64');
    const other = { params: { id: '7' } };
    const query = { q: '1', token: '[redacted]' };
    expect(await parametersOf({ headers: form, body, isBase64Encoded: true })).toEqual({
      query,
      form: { a: ['1', '2'], secret: '[redacted]' },
      other,
    });
    const without = { query, other };
    expect(await parametersOf({ body: '{' })).toEqual(without);
    expect(await parametersOf({ body: undefined })).toEqual(without);
    expect(await parametersOf({ headers: { 'content-type': 'text/plain' } })).toEqual(without);
    expect(await parametersOf({ rawQueryString: '', body: undefined })).toEqual({ other });
    const noQuery = { rawQueryString: undefined as never, body: undefined };
    expect(await parametersOf(noQuery)).toEqual({ other });
  });

  test('has the client that further proxies name', async () => {
    const { actor } = await contextOf(event(), { trustedProxies: 2 });
    expect(actor?.ip?.address).toBe('6.6.6.6');
  });

  test('answers a blocked request, also if the error was caught', async () => {
    const seen: unknown[] = [];
    const block = () => blockRequest(() => seen.push(currentContext().http?.response));
    const forbidden = {
      statusCode: 403,
      headers: { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' },
      body: 'Forbidden',
    };
    expect(await captureRequests(block)(event(), context())).toEqual(forbidden);
    const caught = captureRequests(() => {
      try {
        return block();
      } catch {
        return { statusCode: 200 };
      }
    });
    expect(await caught(event(), context())).toEqual(forbidden);
    const wrapped = captureRequests(() => {
      try {
        return blockRequest();
      } catch (cause) {
        throw new Error('the handler failed', { cause });
      }
    });
    expect(await wrapped(event(), context())).toEqual(forbidden);
    const thrown = captureRequests(() => Promise.reject(new RequestBlockedError()), {
      blockedStatus: 429,
    });
    expect(await thrown(event(), context())).toMatchObject({ statusCode: 429 });
    expect(seen).toEqual([
      { blocked: true, status: 403 },
      { blocked: true, status: 403 },
    ]);
  });

  test.each([null, undefined, 'text', 7, { requestContext: null }, { Records: [] }])(
    'calls the handler without a context for the event %j',
    async (given) => {
      const handler = vi.fn<(event: unknown) => unknown>(() => currentContext());
      expect(await captureRequests(handler)(given as never, context())).toEqual({});
      expect(handler).toHaveBeenCalledExactlyOnceWith(given, expect.anything());
    },
  );
});

describe('a Lambda function behind a REST API (payload format 1.0)', () => {
  test('has the context of its request', async () => {
    const { actor, http } = await contextOf(proxyEvent());
    expect(actor?.ip?.address).toBe('203.0.113.9');
    expect(http?.request).toMatchObject({
      host: 'api.example',
      parameters: {
        query: { q: ['a & b', 'c'], token: '[redacted]' },
        json: { search: 'shoes', password: '[redacted]' },
        other: { params: { id: '7' } },
      },
      path: '/users/7',
      remote_ip: '203.0.113.9',
      scheme: 'https',
      user_agent: 'a test',
      verb: 'POST',
    });
  });

  test('reads the single values of an event that a test makes', async () => {
    const single = { multiValueHeaders: null, multiValueQueryStringParameters: null };
    const { http } = await contextOf(proxyEvent(single));
    expect(http?.request).toMatchObject({
      host: 'api.example',
      parameters: { query: { q: 'c', token: '[redacted]' } },
    });
  });

  test('has a request without a query, parameters and a body', async () => {
    const none = { pathParameters: null, body: null };
    const noQuery = { queryStringParameters: null, multiValueQueryStringParameters: null };
    const { http } = await contextOf(proxyEvent({ ...none, ...noQuery }));
    expect(http?.request).toMatchObject({ path: '/users/7', verb: 'POST' });
    expect(http?.request).not.toHaveProperty('parameters');
  });

  test('answers a blocked request', async () => {
    const answer = await captureRequests(() => blockRequest())(proxyEvent(), context());
    expect(Object.keys(answer)).toEqual(['statusCode', 'headers', 'body']);
  });
});

describe('a Lambda function behind a load balancer', () => {
  test('has the client that the load balancer names, if it is trusted', async () => {
    const { actor, http } = await contextOf(balancerEvent(), { trustedProxies: 1 });
    expect(actor?.ip?.address).toBe('203.0.113.9');
    expect(http?.request).toMatchObject({
      host: 'lambda-alb.example',
      parameters: { query: { q: '1 & 2' } },
      path: '/search',
      port: 443,
      scheme: 'https',
    });
    const { actor: unknown } = await contextOf(balancerEvent());
    expect(unknown?.ip?.address).toBe('0.0.0.0');
  });

  test('answers a blocked request in the form of its headers', async () => {
    const handler = captureRequests<LambdaProxyEvent, ReturnType<typeof context>, never>(() =>
      blockRequest(),
    );
    const answer = await handler(balancerEvent(), context());
    expect(answer).toMatchObject({ statusCode: 403, isBase64Encoded: false, body: 'Forbidden' });
    expect(answer).not.toHaveProperty('multiValueHeaders');
    const multiValueHeaders = { host: ['lambda-alb.example'] };
    expect(await handler(balancerEvent({ multiValueHeaders }), context())).toMatchObject({
      multiValueHeaders: {
        'cache-control': ['no-store'],
        'content-type': ['text/plain; charset=utf-8'],
      },
    });
  });
});

test.each([
  ['flush', { flush: {} }],
  ['flushDeadlineMs', { flushDeadlineMs: -1 }],
  ['trustProxy', { trustProxy: true }],
])('The adapter for Lambda refuses a wrong option: %s', (name, options) => {
  expect(() => captureRequests(() => 1, options as object)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [name] }),
  );
});
