import { describe, expect, test } from 'vitest';
import {
  captureRequests,
  type LambdaCaptureOptions,
  type LambdaProxyEvent,
} from '../../../src/capture/adapters/lambda.ts';
import { blockRequest, currentContext } from '../../../src/capture/index.ts';
import { balancerEvent, context, proxyEvent } from '../../helpers/lambda-events.ts';

type Seen = ReturnType<typeof currentContext>;

const proxyContextOf = async (event: LambdaProxyEvent, options?: LambdaCaptureOptions) =>
  (await captureRequests(() => currentContext(), options)(event, context())) as Seen;

describe('a Lambda function behind a REST API (payload format 1.0)', () => {
  test('has the context of its request', async () => {
    const { actor, http } = await proxyContextOf(proxyEvent());
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
    const { http } = await proxyContextOf(proxyEvent(single));
    expect(http?.request).toMatchObject({
      host: 'api.example',
      parameters: { query: { q: 'c', token: '[redacted]' } },
    });
  });

  test('has a request without a query, parameters and a body', async () => {
    const none = { pathParameters: null, body: null };
    const noQuery = { queryStringParameters: null, multiValueQueryStringParameters: null };
    const { http } = await proxyContextOf(proxyEvent({ ...none, ...noQuery }));
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
    const { actor, http } = await proxyContextOf(balancerEvent(), { trustedProxies: 1 });
    expect(actor?.ip?.address).toBe('203.0.113.9');
    expect(http?.request).toMatchObject({
      host: 'lambda-alb.example',
      parameters: { query: { q: '1 & 2' } },
      path: '/search',
      port: 443,
      scheme: 'https',
    });
    const { actor: unknown } = await proxyContextOf(balancerEvent());
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
