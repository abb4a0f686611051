/** The server of `listen`: from a request to its answer, and to what is told about it. */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { MemoryDuplicateStore } from '../../receiver/index.ts';
import type { TerminalClock } from '../terminal.ts';
import type { AnswerPlan } from './answer-plan.ts';
import type { Delivery } from './delivery.ts';
import { type Forwarded, forward, hasPassed } from './forward.ts';
import { type Answer, type ReceivedRequest, receiveRequest } from './received-request.ts';

export interface ListenerOptions {
  readonly secrets: readonly string[];
  /** Requests to other paths are refused with 404. Default: all paths are taken. */
  readonly path?: string | undefined;
  readonly plan?: AnswerPlan | undefined;
  readonly delayMs: number;
  readonly forwardTo?: URL | undefined;
  /** What this listener is called by the requests that it hands on. */
  readonly forwarder: string;
  /** Hands on requests that are not genuine, too, or whose body is not what it should be. */
  readonly forwardsUnverified: boolean;
  /** Ids of messages that were answered with success. */
  readonly taken: MemoryDuplicateStore;
  readonly clock: TerminalClock;
  /** Awaited before the answer is sent: who sees the answer finds it told. */
  readonly tell: (delivery: Delivery) => Promise<void>;
  /** Something that is no HTTP came in. */
  readonly onNoise: (hint: string) => void;
  /** A request to the webhook was answered, or its sender has left. */
  readonly onAnswered: (delivery: Delivery) => void;
}

/** How an answer came about. */
interface Decision {
  readonly answer: Answer;
  readonly decidedBy?: string;
}

const NOT_FOUND: ReceivedRequest = {
  answer: { status: 404, headers: {}, text: 'path\n' },
  body: Buffer.alloc(0),
  messages: [],
  refusal: { reason: 'path' },
};

/** RFC 5842, section 7.2 */
const LOOP: Decision = {
  answer: { status: 508, headers: {}, text: 'loop\n' },
  decidedBy: 'not forwarded: it came from here',
};

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

export function createListener(options: ListenerOptions): http.Server {
  let count = 0;
  const server = http.createServer((request, response) => {
    count += 1;
    serve(request, response, { ...options, number: count }).catch(() => {
      // One request that nobody thought of must not end those that come after it.
      response.destroy();
      options.onNoise('A request was dropped: an unexpected failure while it was served.');
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    // A connection that just ends is no noise: browsers open some in reserve.
    if (error.code !== 'ECONNRESET') options.onNoise(noiseHint(error.rawPacket));
    refuseNoise(socket);
  });
  return server;
}

/** The first byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16;

const noiseHint = (packet: Buffer | undefined): string =>
  packet?.[0] === TLS_HANDSHAKE
    ? 'Somebody spoke TLS: the URL of this listener begins with http://, not https://.'
    : 'Something that is no HTTP came in, and was refused.';

function refuseNoise(socket: Duplex): void {
  if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  else socket.destroy();
}

type Serving = ListenerOptions & { readonly number: number };

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  serving: Serving,
): Promise<void> {
  const receivedAt = serving.clock.now();
  const left = new AbortController();
  const closed = new Promise<void>((resolve) => {
    response.on('close', () => {
      left.abort();
      resolve();
    });
  });
  const received = isAtPath(request, serving.path)
    ? await receiveRequest(request, serving.secrets)
    : NOT_FOUND;
  const decision = await decide(request, received, { ...serving, signal: left.signal });
  const heard = left.signal.aborted ? { decidedBy: 'the sender left before it' } : {};
  const delivery = deliveryOf(request, received, { ...serving, ...decision, ...heard, receivedAt });
  await serving.tell(delivery);
  if (isSuccess(delivery.status) && !left.signal.aborted) serving.taken.add(idsOf(received));
  write(response, decision.answer);
  await closed;
  // Neither a browser's look nor another path is what somebody counts.
  if (request.method === 'POST' && received !== NOT_FOUND) serving.onAnswered(delivery);
}

/** Without the query: senders may have one. */
const isAtPath = ({ url = '/' }: IncomingMessage, path: string | undefined): boolean =>
  path === undefined || url.split('?', 1)[0] === path;

/** Refusals of requests that were read to their end, so that there is something to hand on. */
const READ_WHOLE: ReadonlySet<string> = new Set([
  'signature-missing',
  'signature-wrong',
  'body-invalid',
  'message-invalid',
]);

async function decide(
  { headers }: IncomingMessage,
  { answer, body, refusal }: ReceivedRequest,
  {
    plan,
    delayMs,
    forwardTo,
    forwarder,
    forwardsUnverified,
    clock,
    signal,
  }: Serving & {
    readonly signal: AbortSignal;
  },
): Promise<Decision> {
  const isHandedOn = forwardsUnverified && READ_WHOLE.has(refusal?.reason ?? '');
  if (refusal !== undefined && !isHandedOn) return { answer };
  // A request that nobody's sender made does not use the plan up.
  const planned = plan?.next();
  if (delayMs > 0) await clock.sleep(delayMs, signal);
  if (planned !== undefined) return { answer: { ...answer, status: planned }, decidedBy: '--fail' };
  if (forwardTo === undefined) return { answer };
  if (hasPassed(headers, forwarder)) return LOOP;
  return forwarded(await forward(forwardTo, { headers, body }, { forwarder, signal, clock }));
}

const forwarded = ({ answer, failure }: Forwarded): Decision => ({
  answer,
  decidedBy: failure === undefined ? 'forwarded' : `not forwarded: ${failure}`,
});

function deliveryOf(
  { method = '', url = '/' }: IncomingMessage,
  received: ReceivedRequest,
  { number, receivedAt, answer, decidedBy, taken }: Serving & Decision & { receivedAt: number },
): Delivery {
  const { body, messages, refusal } = received;
  return {
    number,
    receivedAt,
    method,
    target: url,
    bytes: body.length,
    messages,
    repeated: taken.has(idsOf(received)),
    status: answer.status,
    ...(refusal === undefined ? {} : { refusal }),
    ...(decidedBy === undefined ? {} : { decidedBy }),
  };
}

const idsOf = ({ messages }: ReceivedRequest): string[] =>
  messages.map(({ id }) => id).filter((id) => id !== null);

function write(response: ServerResponse, { status, headers, text }: Answer): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // What is left of a body that is refused is not waited for.
  if (status === 413) response.setHeader('connection', 'close');
  response.end(text);
}
