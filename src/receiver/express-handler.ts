import { invalidOption } from '../option-rules.ts';
import { hasMethods } from '../own-properties.ts';
import {
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-handler.ts';
import { checkReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** The used part of Express's request. */
export interface ExpressRequestLike extends NodeRequestLike {}

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
    const respond = async (): Promise<void> => {
      try {
        const answer = await checked.receive(nodeRequest(request));
        writeAnswer(response, answer);
      } catch (error) {
        next(error);
      }
    };
    void respond();
  };
}
