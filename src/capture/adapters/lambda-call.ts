/** Calls a Lambda handler that returns its response, passes it to a callback, or streams it. */
import { hasMethods, isObjectLike, readProperty } from '../../own-properties.ts';
import { isPromiseLike, tryCall } from '../../runtime/host-calls.ts';
import type { BlockedResponse } from '../request/request-blocked-error.ts';
import type { Block } from '../request/request-scope.ts';

/** The used part of the stream that `awslambda.streamifyResponse` passes to a handler. */
export interface LambdaResponseStream {
  write(chunk: string): unknown;
  end(): unknown;
}

export type AnyHandler = (event: unknown, ...args: readonly unknown[]) => unknown;

/** Returns the stream, which comes before the context. */
export const streamOf = ([first]: readonly unknown[]): LambdaResponseStream | undefined =>
  hasMethods(first, 'write', 'end') ? (first as LambdaResponseStream) : undefined;

/**
 * Returns the handler's result, or a promise of what it passes to its callback. AWS passes a callback to every handler
 * up to Node 22, and must not get the response before the events are flushed.
 */
export function callHandler(
  handler: AnyHandler,
  event: unknown,
  args: readonly unknown[],
): unknown {
  const [context, callback] = args;
  if (typeof callback !== 'function') return handler(event, ...args);
  return new Promise((resolve, reject) => {
    const done = (error?: unknown, response?: unknown): void => {
      if (error === undefined || error === null) resolve(response);
      else reject(error);
    };
    const returned = handler(event, context, done);
    if (handler.length < 3 || isPromiseLike(returned)) resolve(returned);
  });
}

export interface BlockedCall {
  readonly block: Block;
  readonly response: BlockedResponse;
}

/** Streams the response, unless the stream has ended. Throws the block if a response has begun: AWS then aborts it. */
export function streamBlocked(
  stream: LambdaResponseStream,
  { block, response }: BlockedCall,
): void {
  if (readProperty(stream, 'writableEnded') === true) return;
  const { body, ...head } = response;
  const opened = tryCall(() => withHead(stream, head));
  if (opened === undefined) throw block;
  opened.write(body);
  opened.end();
}

interface ResponseStreams {
  /** Throws if the response has begun. */
  from(stream: LambdaResponseStream, head: object): LambdaResponseStream;
}

/** Lambda's global exists only there. */
function withHead(stream: LambdaResponseStream, head: object): LambdaResponseStream {
  const lambda: unknown = Reflect.get(globalThis, 'awslambda');
  if (!isObjectLike(lambda)) return stream;
  return (readProperty(lambda, 'HttpResponseStream') as ResponseStreams).from(stream, head);
}
