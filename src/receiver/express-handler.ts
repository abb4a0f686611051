import { invalidOption } from '../option-rules.ts';
import { readProperty } from '../own-properties.ts';
import {
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-request.ts';
import { checkedReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** What is used of Express's request. */
export interface ExpressRequestLike extends NodeRequestLike {
  /** What a parser made of the body; bytes or text are taken, anything else is not what was signed. */
  readonly body?: unknown;
  /** Where an application keeps the bytes that a parser has read. */
  readonly rawBody?: unknown;
}

/**
 * A handler for Express 4 and 5, and for Connect: `app.post('/hooks/security', expressHandler(receiver))`,
 * before `express.json()`. Behind it, it needs the bytes that were signed: `request.rawBody`, as
 * `express.json({ limit: '2mb', verify: (request, _response, bytes) => { request.rawBody = bytes; } })`
 * keeps them, or what `express.raw({ limit: '2mb' })` gives: without a limit, parsers of Express refuse
 * bodies of more than 100 KB with 413. Where there are no bytes, the next error handler gets
 * `ERR_RAW_BODY_GONE`; where the reply is another host's, `ERR_INVALID_OPTION`.
 */
export function expressHandler(
  receiver: WebhookReceiver,
): (
  request: ExpressRequestLike,
  response: NodeResponseLike,
  next: (error?: unknown) => void,
) => void {
  const checked = checkedReceiver(receiver);
  return (request, response, next) => {
    if (!isResponse(response)) {
      const error = invalidOption('expected the response of Express or node:http', ['response']);
      // Fastify gives handlers no `next`; it answers what they throw.
      if (typeof next !== 'function') throw error;
      next(error);
      return;
    }
    const kept = ['rawBody', 'body'].map((name) => readProperty(request, name)).find(isRaw);
    const answer = async (): Promise<void> => {
      try {
        const found = await checked.receive(nodeRequest(request, request, kept));
        writeAnswer(response, found, request);
      } catch (error) {
        next(error);
      }
    };
    void answer();
  };
}

const isResponse = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['setHeader', 'end'].every((name) => typeof readProperty(value, name) === 'function');

const isRaw = (value: unknown): value is string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array;
