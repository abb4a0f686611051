/** The server of `listen`: receives each request, answers it and reports it. */
import { once } from 'node:events';
import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { BodyBudget } from '../../receiver/body-budget.ts';
import {
  createMemoryDuplicates,
  createWebhookReceiver,
  type MemoryDuplicateStore,
  parseBody,
  type ReceivedMessage,
  type Refusal,
  type RefusedElement,
  type SignatureExplanation,
  type WebhookReceiver,
} from '../../receiver/index.ts';
import { nodeRequest, writeAnswer } from '../../receiver/node-handler.ts';
import { CLOSE, refusedAnswer, SIGNATURE_HEADER } from '../../receiver/refusals.ts';
import { systemClock } from '../../runtime/clock.ts';
import { explainBest } from '../signature.ts';
import type { TerminalClock } from '../terminal.ts';
import { type Answer, forward } from './forward.ts';

export interface RefusedRequest {
  readonly reason: Refusal['reason'];
  /** Why the signature does not match. */
  readonly explanation: SignatureExplanation | undefined;
  /** Elements of a verified request that break the contract. */
  readonly invalid: readonly RefusedElement[] | undefined;
}

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** As received; empty if it could not be read. */
  readonly body: Buffer;
  /** Empty if the request was refused. */
  readonly messages: readonly ReceivedMessage[];
  readonly refusal?: RefusedRequest;
  /** The receiver's answer, before `--fail` or `--forward` replaces it. */
  readonly answer: Answer;
}

/** A received request and its final answer. */
export interface Delivery extends ReceivedRequest {
  /** Number of the request, from 1. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Ids of messages that were delivered before. */
  readonly repeated: ReadonlySet<string>;
  /** The status that the sender gets. */
  readonly status: number;
  /** What replaced the receiver's status, such as `--fail`; or a note that the sender had disconnected. */
  readonly decidedBy: string | undefined;
}

export interface ListenerOptions {
  readonly secrets: readonly string[];
  /** Statuses for the next verified requests. */
  readonly statuses?: Iterator<number, undefined> | undefined;
  /** Wait before a verified request is answered, in milliseconds. */
  readonly delayMs: number;
  readonly forwardTo?: URL | undefined;
  /** Identifies this listener in the `via` header, to detect loops. */
  readonly name: string;
  readonly clock: TerminalClock;
  /** Answers requests for the inspector's page and returns true; false for webhooks. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Called, and awaited, before a request is answered. */
  readonly onDelivery: (delivery: Delivery) => Promise<void>;
  /** Called after a POST was answered, or its sender disconnected. */
  readonly onAnswered: (delivery: Delivery) => void;
}

type Serving = ListenerOptions & {
  readonly number: number;
  readonly delivered: MemoryDuplicateStore;
  /** Limits the memory of bodies that are being read. */
  readonly bodies: BodyBudget;
  readonly receiver: WebhookReceiver;
};

/** @throws SecurityEventError `ERR_INVALID_SECRET` */
export function createListener(options: ListenerOptions): http.Server {
  const delivered = createMemoryDuplicates();
  const bodies = new BodyBudget(BODY_LIMITS, systemClock);
  // Without a store of duplicates, since repeated messages are shown, too.
  const rules = { secret: options.secrets, duplicates: false, onMessages: () => {} } as const;
  const receiver = createWebhookReceiver(rules);
  let number = 0;
  return http.createServer((request, response) => {
    if (options.intercept?.(request, response) === true) return;
    number += 1;
    const serving = { ...options, number, delivered, bodies, receiver };
    // An unexpected request must not end the listener.
    serve(request, response, serving).catch(() => response.destroy());
  });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  serving: Serving,
): Promise<void> {
  const { number, delivered, clock } = serving;
  const receivedAt = clock.now();
  const closing = new AbortController();
  const { signal } = closing;
  response.on('close', () => closing.abort());
  const received = await receiveRequest(request, serving);
  const { answer, by } = await decide(received, serving, signal);
  const ids = received.messages.flatMap(({ id }) => id ?? []);
  const delivery: Delivery = {
    ...received,
    number,
    receivedAt,
    repeated: delivered.has(ids),
    status: answer.status,
    decidedBy: signal.aborted ? 'the sender had disconnected' : by,
  };
  await serving.onDelivery(delivery);
  const isSuccess = answer.status >= 200 && answer.status < 300;
  if (isSuccess && !signal.aborted) delivered.add(ids);
  writeAnswer(response, { ...answer, handle: undefined });
  if (!signal.aborted) await once(signal, 'abort');
  if (received.method === 'POST') serving.onAnswered(delivery);
}

async function decide(
  received: ReceivedRequest,
  { statuses, delayMs, forwardTo, name, clock }: Serving,
  signal: AbortSignal,
): Promise<{ readonly answer: Answer; readonly by?: string }> {
  const { answer, refusal } = received;
  if (refusal !== undefined) return { answer };
  const status = statuses?.next().value;
  if (delayMs > 0) await clock.sleep(delayMs, signal);
  if (status !== undefined) return { answer: { ...answer, status }, by: '--fail' };
  if (forwardTo === undefined) return { answer };
  const forwarded = await forward(received, { to: forwardTo, name, signal, clock });
  const { failure } = forwarded;
  return { answer: forwarded.answer, by: failure ? `not forwarded: ${failure}` : 'forwarded' };
}

/** The default limits of receivers. */
const MAX_BODY_BYTES = 2 ** 21;
const BODY_LIMITS = { maxBytes: 2 ** 26, timeoutMs: 30_000 };

async function receiveRequest(
  request: IncomingMessage,
  { secrets, bodies, receiver }: Serving,
): Promise<ReceivedRequest> {
  const { method = '', url: target = '/', headers } = request;
  const source = nodeRequest(request);
  const budget = bodies.open(MAX_BODY_BYTES);
  const read = await source.readBody(MAX_BODY_BYTES, budget).catch(() => undefined);
  budget.end();
  const body = Buffer.from(read ?? []);
  const unread = budget.refusal ?? (read === undefined ? 'incomplete' : undefined);
  const answer =
    unread === undefined
      ? await receiver.receive({ ...source, readBody: async () => body })
      : refusedAnswer(unread, CLOSE);
  const facts = { method, target, headers, body, answer };
  if (answer.status === 204) return { ...facts, messages: parseBody(body).messages };
  const reason = answer.text.trim() as RefusedRequest['reason'];
  const isUnverified = reason === 'signature-wrong' || reason === 'signature-missing';
  const refusal: RefusedRequest = {
    reason,
    explanation: isUnverified
      ? explainBest(body, source.header(SIGNATURE_HEADER), secrets)
      : undefined,
    invalid: reason === 'message-invalid' ? parseBody(body).refused : undefined,
  };
  return { ...facts, messages: [], refusal };
}
