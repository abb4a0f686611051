/** A receiver that records what it gets, and signed requests for it. */
import { once } from 'node:events';
import net from 'node:net';
import {
  createWebhookReceiver,
  type ReceiverOptions,
  type Refusal,
  type WebhookRequest,
} from '../../src/receiver/index.ts';
import { sampleMessage } from '../../src/testing/index.ts';
import { sign } from '../../src/webhook/signature.ts';

export const SECRET = 'secret-of-the-test';

/** One message with the id `a`. */
export const BODY = JSON.stringify([{ ...sampleMessage('test'), message_id: 'a' }]);

export const signedHeaders = (body = BODY): Record<string, string> => ({
  'content-type': 'application/json',
  'x-svc-integrity': sign(body, SECRET),
});

export const signedInit = (body = BODY) => ({ method: 'POST', body, headers: signedHeaders(body) });

/** The ids of handled messages, the refusals and the errors are recorded. */
export function receiverOf(options: Partial<ReceiverOptions> = {}) {
  const [handled, refusals, errors]: [(string | null)[], Refusal[], unknown[]] = [[], [], []];
  const receiver = createWebhookReceiver({
    secret: SECRET,
    onMessages: (messages) => void handled.push(...messages.map(({ id }) => id)),
    onRefused: (refusal) => refusals.push(refusal),
    onError: (error) => errors.push(error),
    ...options,
  });
  return { receiver, handled, refusals, errors, reasons: () => refusals.map((it) => it.reason) };
}

/** A request as an adapter passes it on. */
export function requestOf(
  body = BODY,
  changes: Partial<WebhookRequest> & { readonly headers?: Record<string, string | undefined> } = {},
): WebhookRequest {
  const { headers: changed, ...rest } = changes;
  const headers: Record<string, string | undefined> = { ...signedHeaders(body), ...changed };
  return {
    method: 'POST',
    header: (name) => headers[name],
    readBody: async () => Buffer.from(body),
    ...rest,
  };
}

/** The head of a POST as it is on the wire. */
export const headOf = (path: string, headers: Readonly<Record<string, string | number>>): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: a',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

/** A sender on a bare socket. `answer` returns what it has received so far. */
export async function bareSender(url: string) {
  const { port, pathname } = new URL(url);
  const socket = net.connect(Number(port), '127.0.0.1');
  // A sender that is cut off may get an error before the response.
  socket.on('error', () => {});
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'connect');
  const begin = (headers: Readonly<Record<string, string | number>>, body = '') =>
    socket.write(headOf(pathname, headers) + body);
  return { socket, begin, answer: () => text };
}
