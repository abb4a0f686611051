/** The adapter for Node's HTTP servers, and its parts for frameworks on top of them. */
import { SecurityEventError } from '../errors.ts';
import { readProperty } from '../own-properties.ts';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';
import type { BodyReading } from './body-budget.ts';
import { senderWentAway } from './refusals.ts';
import {
  checkReceiver,
  type WebhookAnswer,
  type WebhookReceiver,
  type WebhookRequest,
} from './webhook-receiver.ts';

/** The used part of Node's streams. */
export interface BodyStream {
  readonly readableDidRead?: boolean;
  readonly destroyed?: boolean;
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'end' | 'close' | 'error', listener: () => void): unknown;
  destroy(): unknown;
}

/** The used part of a request of node:http, node:http2 or Express. */
export interface NodeRequestLike extends BodyStream {
  readonly method?: string | undefined;
  readonly httpVersionMajor?: number;
  /** In HTTP/2, the only sign that the sender went away: the body just ends. */
  readonly aborted?: boolean;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body. Only bytes or text are used: anything else is not what was signed. */
  readonly body?: unknown;
  /** The bytes that a parser has read, if the application keeps them. */
  readonly rawBody?: unknown;
}

/** The used part of a response. */
export interface NodeResponseLike {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
  readonly headersSent?: boolean;
  /** In HTTP/1: the connection is closed. */
  readonly destroyed?: boolean;
  /** In HTTP/2, instead of `destroyed`. */
  readonly stream?: { readonly destroyed: boolean };
}

/** A refused body is read and discarded up to this multiple of `maxBytes`, so that the sender gets the response. */
const DISCARD_FACTOR = 4;

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
    // A destroyed stream emits no more events.
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
      // Destroying the connection earlier would lose the response.
      else if (bytes > maxBytes * DISCARD_FACTOR) stream.destroy();
    };
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    stream.on('error', gone);
    stream.on('close', gone);
    stream.on('data', take);
  });
}

/** If an HTTP/2 sender goes away, the stream ends with a part of the body, or never. */
async function readRequest(
  request: NodeRequestLike,
  stream: BodyStream,
  limit: BodyLimit,
): Promise<Buffer | undefined> {
  if (isAborted(request)) throw senderWentAway();
  const body = await readStream(stream, limit);
  if (readProperty(request, 'httpVersionMajor') !== 2) return body;
  // Clients such as Node's end a cancelled body first; `aborted` is set after that.
  await nextTurn();
  if (isAborted(request)) throw senderWentAway();
  return body;
}

const isAborted = (request: NodeRequestLike): boolean => readProperty(request, 'aborted') === true;

function headerOf(headers: NodeRequestLike['headers'], name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === 'string' ? value : value?.join(', ');
}

const isRaw = (value: unknown): value is string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array;

/** Adapts a request. `stream` is its body, unless the bytes were already read and kept. */
export function nodeRequest(
  request: NodeRequestLike,
  stream: BodyStream = request,
): WebhookRequest {
  const raw = ['rawBody', 'body'].map((name) => readProperty(request, name)).find(isRaw);
  return {
    method: request.method,
    header: (name) => headerOf(request.headers, name),
    readBody: async (maxBytes, reading) => {
      if (raw !== undefined) return typeof raw === 'string' ? Buffer.from(raw) : raw;
      if (readProperty(stream, 'readableDidRead') === true)
        throw new SecurityEventError('ERR_RAW_BODY_GONE');
      return await readRequest(request, stream, { maxBytes, reading });
    },
  };
}

/**
 * Writes the response, and handles the messages in the next turn. Waiting for 'finish' or 'close' instead
 * would wait forever if the sender has gone away.
 */
export function writeAnswer(
  response: NodeResponseLike,
  { status, headers, text, handle }: WebhookAnswer,
): void {
  if (handle !== undefined) void nextTurn().then(handle);
  // Already answered, for example by a timeout of the host, or the sender is gone: writing would throw.
  const stream = readProperty(response, 'stream') as NodeResponseLike['stream'];
  const isGone = readProperty(response, 'destroyed') === true || stream?.destroyed === true;
  if (readProperty(response, 'headersSent') === true || isGone) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(text);
}

/**
 * Creates a listener for node:http, node:https and the compatibility API of node:http2:
 * `createServer(nodeHandler(receiver))`. It accepts requests to every path. If the body was already read, it takes
 * the bytes from `request.rawBody` or `request.body`.
 */
export function nodeHandler(
  receiver: WebhookReceiver,
): (request: NodeRequestLike, response: NodeResponseLike) => void {
  const checked = checkReceiver(receiver);
  return (request, response) => {
    checked.receive(nodeRequest(request)).then(
      (answer) => writeAnswer(response, answer),
      // ERR_RAW_BODY_GONE, which was passed to `onError`.
      () => writeAnswer(response, { status: 500, headers: {}, text: '', handle: undefined }),
    );
  };
}
