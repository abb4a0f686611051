import { invalidOption } from '../option-rules.ts';
import { hasMethods, readProperty } from '../own-properties.ts';
import {
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-handler.ts';
import { checkReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** The used part of Express's request. */
export interface ExpressRequestLike extends NodeRequestLike {
  /** The parsed body. Only bytes or text are used: anything else is not what was signed. */
  readonly body?: unknown;
  /** The bytes that a parser has read, if the application keeps them. */
  readonly rawBody?: unknown;
}

/**
 * Creates a handler for Express 4 and 5, and for Connect: `app.post('/hooks/security',
 * expressHandler(receiver))`, before `express.json()`. After a parser it needs the signed bytes:
 * `request.rawBody`, from `express.json({ limit: '2mb', verify: (request, _response, bytes) => {
 * request.rawBody = bytes; } })`, or the body of `express.raw({ limit: '2mb' })`. Without a limit, Express's
 * parsers refuse bodies of more than 100 KB with 413. The next error handler gets `ERR_RAW_BODY_GONE` if a parser
 * has read the bytes and not kept them, and `ERR_INVALID_OPTION` in another framework.
 */
export function expressHandler(
  receiver: WebhookReceiver,
): (
  request: ExpressRequestLike,
  response: NodeResponseLike,
  next: (error?: unknown) => void,
) => void {
  const checked = checkReceiver(receiver);
  return (request, response, next) => {
    if (!hasMethods(response, 'setHeader', 'end')) {
      const error = invalidOption('expected the response of Express or node:http', ['response']);
      // Fastify passes no `next`; it handles what is thrown.
      if (typeof next !== 'function') throw error;
      next(error);
      return;
    }
    const raw = ['rawBody', 'body'].map((name) => readProperty(request, name)).find(isRaw);
    const respond = async (): Promise<void> => {
      try {
        const answer = await checked.receive(nodeRequest(request, request, raw));
        writeAnswer(response, answer);
      } catch (error) {
        next(error);
      }
    };
    void respond();
  };
}

const isRaw = (value: unknown): value is string | Uint8Array =>
  typeof value === 'string' || value instanceof Uint8Array;
