import {
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-request.ts';
import { checkedReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/**
 * A listener for node:http, node:https and the compatibility API of node:http2:
 * `createServer(nodeHandler(receiver))`. It takes requests to every path.
 */
export function nodeHandler(
  receiver: WebhookReceiver,
): (request: NodeRequestLike, response: NodeResponseLike) => void {
  const checked = checkedReceiver(receiver);
  return (request, response) => {
    checked.receive(nodeRequest(request, request)).then(
      (answer) => writeAnswer(response, answer, request),
      // Its raw body is gone, which `onError` was told.
      () =>
        writeAnswer(response, { status: 500, headers: {}, text: '', handle: undefined }, request),
    );
  };
}
