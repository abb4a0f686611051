/** One request, by the receiver of the library: what it brought, or why it is refused. */
import type { IncomingMessage } from 'node:http';
import {
  createWebhookReceiver,
  explainSignature,
  nodeHandler,
  parseBody,
  type ReceivedMessage,
  type Refusal,
  type RefusedElement,
  type SignatureExplanation,
} from '../../receiver/index.ts';

/** What a receiver answers. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface ReceivedRequest {
  readonly answer: Answer;
  /** As it came in. */
  readonly body: Buffer;
  /** Of a request that was taken. */
  readonly messages: readonly ReceivedMessage[];
  readonly refusal?: RefusedRequest;
}

export interface RefusedRequest {
  readonly reason: string;
  /** Why the signature does not fit. */
  readonly explanation?: SignatureExplanation;
  /** The elements that break the contract, of a request that is genuine. */
  readonly elements?: readonly RefusedElement[];
}

/**
 * A receiver for this request alone, so that what it tells is of this request. It has no memory of
 * messages: who looks on wants to see each one again.
 */
export function receiveRequest(
  request: IncomingMessage,
  secrets: readonly string[],
): Promise<ReceivedRequest> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let messages: readonly ReceivedMessage[] = [];
  let refusal: Refusal | undefined;
  const receiver = createWebhookReceiver({
    secret: secrets,
    duplicates: false,
    answer: 'handled',
    onMessages: (found) => {
      messages = found;
    },
    onRefused: (found) => {
      refusal = found;
    },
  });
  return new Promise((resolve) => {
    const answered = (answer: Answer): void => {
      const told = refusal === undefined ? {} : { refusal: describeRefusal(refusal, secrets) };
      resolve({ answer, body: Buffer.concat(chunks), messages, ...told });
    };
    // A receiver refuses unread what has no signature: whoever looks on wants to see that, too.
    const ended = new Promise((resolveEnd) => {
      for (const event of ['end', 'close']) request.once(event, resolveEnd);
    });
    const answeredOnceRead = (answer: Answer): void => {
      if (isUnsigned(refusal) && bytes <= MAX_BODY_BYTES) void ended.then(() => answered(answer));
      else answered(answer);
    };
    nodeHandler(receiver)(request, recordedAnswer(answeredOnceRead));
    // In the same turn as the receiver's own: both hear every byte.
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      const isWanted = refusal === undefined || (isUnsigned(refusal) && bytes <= MAX_BODY_BYTES);
      if (isWanted) chunks.push(chunk);
    });
  });
}

/** What receivers take unless they are told another size. */
const MAX_BODY_BYTES = 2 ** 21;

const isUnsigned = (refusal: Refusal | undefined): boolean =>
  refusal?.body === undefined &&
  (refusal?.reason === 'signature-missing' || refusal?.reason === 'signature-wrong');

/** Takes down what the receiver answers: whether that is what the sender hears is decided elsewhere. */
function recordedAnswer(answered: (answer: Answer) => void) {
  const headers: Record<string, string> = {};
  return {
    statusCode: 200,
    setHeader(name: string, value: string) {
      headers[name] = value;
    },
    end(text: string) {
      answered({ status: this.statusCode, headers, text });
    },
  };
}

function describeRefusal(
  { reason, body, signature }: Refusal,
  secrets: readonly string[],
): RefusedRequest {
  if (reason === 'signature-wrong' || reason === 'signature-missing') {
    return { reason, explanation: explainBest(body, signature, secrets) };
  }
  if (reason === 'message-invalid' && body !== undefined)
    return { reason, elements: parseBody(body).refused };
  return { reason };
}

/** A proven cause, with whichever secret; otherwise what is guessed of the first one. */
function explainBest(
  body: Uint8Array | undefined,
  signature: string | undefined,
  secrets: readonly string[],
): SignatureExplanation {
  const found = secrets.map((secret) => explainSignature(body, signature, secret));
  return found.find(({ isProven }) => isProven) ?? (found[0] as SignatureExplanation);
}
