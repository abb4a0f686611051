/** Requests and responses of Node's HTTP servers, and of frameworks on top of them. */
import { SecurityEventError } from '../errors.ts';
import { readProperty } from '../own-properties.ts';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';
import type { BodyReading } from './body-budget.ts';
import type { WebhookAnswer, WebhookRequest } from './webhook-receiver.ts';

/** What is used of a stream of Node's. */
export interface BodyStream {
  readonly readableDidRead?: boolean;
  readonly destroyed?: boolean;
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'end' | 'close' | 'error', listener: () => void): unknown;
  off(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  destroy(): unknown;
}

/** What is used of a request: node:http's, node:http2's and Express's fit. */
export interface NodeRequestLike extends BodyStream {
  readonly method?: string | undefined;
  readonly httpVersionMajor?: number;
  /** Of HTTP/2, where the body of a sender that has left just ends. */
  readonly aborted?: boolean;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What is used of a response. */
export interface NodeResponseLike {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
  readonly headersSent?: boolean;
  /** Of HTTP/1: the connection is gone. */
  readonly destroyed?: boolean;
  /** Of HTTP/2, where it tells what `destroyed` tells of HTTP/1. */
  readonly stream?: { readonly destroyed: boolean };
}

/** Of a body that is refused, so many times its limit are read and thrown away: the sender hears why. */
const DISCARDED_TIMES = 4;

interface BodyLimit {
  readonly maxBytes: number;
  readonly reading: BodyReading;
}

/** Resolves to undefined if the body is refused; rejects if the sender goes away before the end. */
function readStream(
  stream: BodyStream,
  { maxBytes, reading }: BodyLimit,
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(senderWentAway());
    // Its events are over: waiting for them would be for ever.
    if (readProperty(stream, 'destroyed') === true) return gone();
    let chunks: Uint8Array[] = [];
    let bytes = 0;
    reading.onRefused(() => {
      chunks = [];
      resolve(undefined);
    });
    const take = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      if (reading.take(chunk.length)) chunks.push(chunk);
      // A connection that is ended while it is written to loses the answer.
      else if (bytes > maxBytes * DISCARDED_TIMES) stream.destroy();
    };
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    stream.on('error', gone);
    stream.on('close', gone);
    stream.on('data', take);
  });
}

/** Of a sender that is gone, HTTP/2 gives a part of the body, or waits for ever. */
async function readRequest(
  request: NodeRequestLike,
  stream: BodyStream,
  limit: BodyLimit,
): Promise<Buffer | undefined> {
  if (isAborted(request)) throw senderWentAway();
  const body = await readStream(stream, limit);
  if (!isHttp2(request)) return body;
  // Clients such as Node's end a body that they cancel, and that they cancel it is told after that.
  await nextTurn();
  if (isAborted(request)) throw senderWentAway();
  return body;
}

/** It changes while a body is read. */
const isAborted = (request: NodeRequestLike): boolean => readProperty(request, 'aborted') === true;

const senderWentAway = (): Error => new Error('the sender went away');

function headerOf(headers: NodeRequestLike['headers'], name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === 'string' ? value : value?.join(', ');
}

/** `stream`: what the body is read from; `kept`: the bytes, where somebody has read and kept them. */
export function nodeRequest(
  request: NodeRequestLike,
  stream: BodyStream,
  kept?: string | Uint8Array,
): WebhookRequest {
  return {
    method: request.method,
    header: (name) => headerOf(request.headers, name),
    readBody: async (maxBytes, reading) => {
      if (kept !== undefined) {
        const bytes = typeof kept === 'string' ? Buffer.from(kept) : kept;
        return bytes.length > maxBytes ? undefined : bytes;
      }
      if (readProperty(stream, 'readableDidRead') === true)
        throw new SecurityEventError('ERR_RAW_BODY_GONE');
      return await readRequest(request, stream, { maxBytes, reading });
    },
  };
}

/** A body that nobody has read, of a length that nobody knows: Node would take in all of it. */
const isUnannounced = (request: NodeRequestLike): boolean =>
  readProperty(request, 'readableDidRead') !== true &&
  headerOf(request.headers, 'transfer-encoding') !== undefined;

function isGone(response: NodeResponseLike): boolean {
  const stream = readProperty(response, 'stream') as NodeResponseLike['stream'];
  return readProperty(response, 'destroyed') === true || stream?.destroyed === true;
}

const isHttp2 = (request: NodeRequestLike): boolean =>
  readProperty(request, 'httpVersionMajor') === 2;

/**
 * Writes the answer, and handles what came in when it is on its way: in the next turn, since neither
 * 'finish' nor 'close' comes where the sender has gone, and what came in would be in hand for ever.
 */
export function writeAnswer(
  response: NodeResponseLike,
  { status, headers, text, handle }: WebhookAnswer,
  request: NodeRequestLike,
): void {
  if (handle !== undefined) void nextTurn().then(handle);
  // Somebody has answered, such as a limit of time, or nobody hears it: writing would throw.
  if (readProperty(response, 'headersSent') === true || isGone(response)) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // What is left of its body is not waited for; HTTP/2 knows no such header.
  const isOpenEnded = status === 413 || status === 408 || isUnannounced(request);
  if (isOpenEnded && !isHttp2(request)) response.setHeader('connection', 'close');
  response.end(text);
}
