/** Handlers that do not return their response: they pass it to a callback, or stream it. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  captureRequests,
  type LambdaContext,
  type LambdaEvent,
  type LambdaResponseStream,
} from '../../../src/capture/adapters/lambda.ts';
import { blockRequest, currentContext, RequestBlockedError } from '../../../src/capture/index.ts';
import { context, event } from '../../helpers/lambda-events.ts';

const later = (run: () => void) => void setImmediate(run);

const withCallback = (_event: LambdaEvent, _context: LambdaContext, done: () => void) => done();

/** As Lambda's runtime: `from` throws once the response has begun. */
const streams = () => {
  const written: unknown[] = [];
  const stream = {
    writableEnded: false,
    write: (chunk: string) => void written.push(chunk),
    end: () => {
      stream.writableEnded = true;
    },
  };
  const from = (given: object, head: object) => {
    if (written.length > 0) throw new Error('Cannot set content-type, too late.');
    written.push(head);
    return given;
  };
  vi.stubGlobal('awslambda', { HttpResponseStream: { from } });
  return { stream, written };
};

describe('a Lambda function with a callback', () => {
  test('is answered with the callback’s result', async () => {
    const callback = vi.fn<(error: unknown, result?: unknown) => void>();
    type Done = typeof callback;
    const call = (handler: (event: LambdaEvent, context: LambdaContext, done: Done) => unknown) =>
      captureRequests(handler)(event(), context(), callback);
    expect(await call((_event, _context, done) => later(() => done(null, 'late')))).toBe('late');
    expect(await call((_event, _context, done) => done(undefined, 'soon'))).toBe('soon');
    expect(await call(async (_event, _context, _done) => 'returned')).toBe('returned');
    expect(await call(() => 'two parameters')).toBe('two parameters');
    const failure = new Error('of the host');
    const failing = call((_event, _context, done) => later(() => done(failure)));
    await expect(failing).rejects.toBe(failure);
    expect(callback).not.toHaveBeenCalled();
  });

  test('has as many parameters as its handler, which AWS counts from Node 24 on', () => {
    expect(captureRequests(withCallback)).toHaveLength(3);
  });
});

describe('a Lambda function that streams its response', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('gets its context, and is flushed before the function’s timeout', async () => {
    const { stream, written } = streams();
    const flush = vi.fn<(options: object) => Promise<void>>(async () => {});
    const handler = captureRequests(
      async (_event: LambdaEvent, given: LambdaResponseStream, aws: LambdaContext) => {
        given.write(`${aws.getRemainingTimeInMillis()} ${currentContext().http?.request.path}`);
        given.end();
      },
      { flush: { flush } },
    );
    expect(await handler(event(), stream, context(1000))).toBeUndefined();
    expect(written).toEqual(['1000 /users/7']);
    expect(flush).toHaveBeenCalledExactlyOnceWith({ deadlineMs: 750 });
  });

  test('answers a blocked request, and aborts a response that has begun', async () => {
    const blocking = captureRequests(
      async (_event: LambdaEvent, given: LambdaResponseStream, aws: LambdaContext) => {
        if (aws.getRemainingTimeInMillis() < 2) given.write('begun');
        if (aws.getRemainingTimeInMillis() < 1) given.end();
        blockRequest();
      },
    );
    const { stream, written } = streams();
    expect(await blocking(event(), stream, context(2))).toBeUndefined();
    expect(written).toEqual([expect.objectContaining({ statusCode: 403 }), 'Forbidden']);
    expect(stream.writableEnded).toBe(true);
    const begun = streams();
    await expect(blocking(event(), begun.stream, context(1))).rejects.toThrow(RequestBlockedError);
    const ended = streams();
    await blocking(event(), ended.stream, context(0));
    expect(ended.written).toEqual(['begun']);
  });

  test('answers a blocked request in a test, which lacks the global of AWS', async () => {
    const { stream, written } = streams();
    vi.unstubAllGlobals();
    const blocking = async (_event: LambdaEvent, _stream: typeof stream, _context: LambdaContext) =>
      blockRequest();
    await captureRequests(blocking)(event(), stream, context());
    expect(written).toEqual(['Forbidden']);
  });
});
