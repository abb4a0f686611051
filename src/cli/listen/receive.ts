/** Reads one request and has it judged by the library's receiver. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  createWebhookReceiver,
  parseBody,
  type ReceivedMessage,
  type Refusal,
  type RefusedElement,
  type SignatureExplanation,
} from '../../receiver/index.ts';
import { explainBest } from '../signature.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface RefusedRequest {
  readonly reason: Refusal['reason'];
  /** Why the signature does not match. */
  readonly explanation?: SignatureExplanation;
  /** Elements of a verified request that break the contract. */
  readonly invalid?: readonly RefusedElement[];
}

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** As received; empty if it was larger than 2 MiB. */
  readonly body: Buffer;
  /** Empty if the request was refused. */
  readonly messages: readonly ReceivedMessage[];
  readonly refusal?: RefusedRequest;
  /** What a receiver answers. */
  readonly answer: Answer;
}

/** The default limit of receivers. */
const MAX_BODY_BYTES = 2 ** 21;

/** Returns undefined for a larger body. Rejects if the sender leaves before the end. */
const readBody = (request: IncomingMessage): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else resolve(undefined);
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('close', () => reject(new Error('incomplete')));
  });

export async function receiveRequest(
  request: IncomingMessage,
  secrets: readonly string[],
): Promise<ReceivedRequest> {
  const { method = '', url: target = '/', headers } = request;
  const reading = readBody(request);
  const body = (await reading.catch(() => undefined)) ?? Buffer.alloc(0);
  const facts = { method, target, headers, body };
  let messages: readonly ReceivedMessage[] = [];
  let refusal: RefusedRequest | undefined;
  // For this request only, without a memory of ids: repeated messages are shown again.
  const receiver = createWebhookReceiver({
    secret: secrets,
    duplicates: false,
    answer: 'handled',
    onMessages: (found) => {
      messages = found;
    },
    onRefused: ({ reason, signature }) => {
      refusal = { reason };
      if (reason === 'signature-wrong' || reason === 'signature-missing') {
        refusal = { reason, explanation: explainBest(body, signature, secrets) };
      }
      if (reason === 'message-invalid') refusal = { reason, invalid: parseBody(body).refused };
    },
  });
  const header = (name: string): string | undefined =>
    [headers[name]].flat().join(', ') || undefined;
  const answer = await receiver.receive({ method, header, readBody: () => reading });
  return { ...facts, messages, answer, ...(refusal === undefined ? {} : { refusal }) };
}
