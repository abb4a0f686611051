import { describe, expect, test, vi } from 'vitest';
import {
  captureRequests,
  type LambdaCaptureOptions,
  type LambdaEvent,
} from '../../../src/capture/adapters/lambda.ts';
import { blockRequest, currentContext, RequestBlockedError } from '../../../src/capture/index.ts';
import { LogRecord } from '../../../src/contract/index.ts';
import { context, event } from '../../helpers/lambda-events.ts';
import { smallRecord } from '../../helpers/log-records.ts';

const contextOf = (more: Partial<LambdaEvent> = {}, options?: LambdaCaptureOptions) =>
  captureRequests(() => currentContext(), options)(event(more), context());

type Seen = ReturnType<typeof currentContext>;

const parametersOf = async (more: Partial<LambdaEvent>) =>
  ((await contextOf(more)) as Seen).http?.request.parameters;

describe('a Lambda function', () => {
  test('has the context of its request in the contract’s form', async () => {
    const { actor, http } = (await contextOf()) as Seen;
    const { service } = smallRecord().context;
    const record = { ...smallRecord(), context: { actor, http, service } };
    expect(LogRecord.parse(record).context).toEqual(record.context);
    expect(http).toEqual({
      request: {
        host: 'id.execute-api.eu-west-1.amazonaws.com',
        parameters: {
          query: { q: '1', token: '[redacted]' },
          json: { search: 'shoes', password: '[redacted]' },
          other: { params: { id: '7' } },
        },
        path: '/users/7',
        port: 443,
        referer: null,
        remote_ip: '203.0.113.9',
        remote_port: '1',
        scheme: 'https',
        user_agent: 'a test',
        verb: 'POST',
      },
      response: { blocked: false },
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

  test.each([false, true])('leaves out a multipart body; base64: %s', async (isBase64Encoded) => {
    const text =
      '--x\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2\r\n--x--\r\n';
    const body = isBase64Encoded ? Buffer.from(text).toString('base64') : text;
    const headers = { 'content-type': 'Multipart/Form-Data; boundary=x' };
    expect(await parametersOf({ headers, body, isBase64Encoded })).toEqual({
      query: { q: '1', token: '[redacted]' },
      other: { params: { id: '7' } },
    });
  });

  test('has the client that further proxies name', async () => {
    const { actor } = (await contextOf({}, { trustedProxies: 2 })) as Seen;
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

  test('runs without a context for other kinds of events', async () => {
    const work = captureRequests(() => currentContext());
    expect(await work({ Records: [] } as never, context())).toEqual({});
  });

  test.each([null, undefined, 'text', 7, { requestContext: null }])(
    'calls the handler without a context for the event %j',
    async (given) => {
      const handler = vi.fn<(event: unknown) => unknown>(() => currentContext());
      expect(await captureRequests(handler)(given as never, context())).toEqual({});
      expect(handler).toHaveBeenCalledExactlyOnceWith(given, expect.anything());
    },
  );
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
