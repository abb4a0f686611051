/** Events and the context of AWS Lambda, as AWS documents them. */
import type { LambdaEvent, LambdaProxyEvent } from '../../src/capture/adapters/lambda.ts';

/** As API Gateway documents payload format 2.0. */
export const event = (more: Partial<LambdaEvent> = {}) => ({
  version: '2.0',
  routeKey: 'POST /users/{id}',
  rawPath: '/users/7',
  rawQueryString: 'q=1&token=sesame',
  cookies: ['session=1'],
  headers: {
    'content-type': 'application/json',
    host: 'id.execute-api.eu-west-1.amazonaws.com',
    'user-agent': 'a test',
    'x-forwarded-for': '6.6.6.6, 203.0.113.9',
    'x-forwarded-port': '443',
    'x-forwarded-proto': 'https',
  },
  requestContext: {
    accountId: '123456789012',
    http: { method: 'POST', path: '/users/7', protocol: 'HTTP/1.1', sourceIp: '203.0.113.9' },
  },
  pathParameters: { id: '7' },
  body: '{"search":"shoes","password":"x"}',
  isBase64Encoded: false,
  ...more,
});

export const context = (leftMs = 30_000) => ({ getRemainingTimeInMillis: () => leftMs });

/** As API Gateway documents payload format 1.0 of a REST API. */
export const proxyEvent = (more: Partial<LambdaProxyEvent> = {}) => ({
  resource: '/users/{id}',
  path: '/users/7',
  httpMethod: 'POST',
  headers: { 'Content-Type': 'application/json', Host: 'api.example', 'User-Agent': 'a test' },
  multiValueHeaders: {
    'Content-Type': ['application/json'],
    Host: ['api.example'],
    'User-Agent': ['a test'],
    'X-Forwarded-For': ['6.6.6.6, 203.0.113.9'],
  },
  queryStringParameters: { q: 'c', token: 'sesame' },
  multiValueQueryStringParameters: { q: ['a & b', 'c'], token: ['sesame'] },
  pathParameters: { id: '7' },
  requestContext: { identity: { sourceIp: '203.0.113.9' } },
  body: '{"search":"shoes","password":"x"}',
  isBase64Encoded: false,
  ...more,
});

/** As AWS documents an event of a load balancer, whose query is not decoded. */
export const balancerEvent = (more: Partial<LambdaProxyEvent> = {}): LambdaProxyEvent => ({
  requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:…' } },
  httpMethod: 'GET',
  path: '/search',
  queryStringParameters: { q: '1%20%26+2' },
  headers: {
    host: 'lambda-alb.example',
    'x-forwarded-for': '6.6.6.6, 203.0.113.9',
    'x-forwarded-port': '443',
    'x-forwarded-proto': 'https',
  },
  body: '',
  isBase64Encoded: false,
  ...more,
});
