import {
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-request.ts';
import { checkedReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/**
 * Creates a listener for node:http, node:https and the compatibility API of node:http2:
 * `createServer(nodeHandler(receiver))`. It accepts requests to every path.
 */
export function nodeHandler(
  receiver: WebhookReceiver,
): (request: NodeRequestLike, response: NodeResponseLike) => void {
  const checked = checkedReceiver(receiver);
  return (request, response) => {
    checked.receive(nodeRequest(request, request)).then(
      (answer) => writeAnswer(response, answer, request),
      // ERR_RAW_BODY_GONE, which `onError` has got.
      () =>
        writeAnswer(response, { status: 500, headers: {}, text: '', handle: undefined }, request),
    );
  };
}
