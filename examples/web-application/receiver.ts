/**
 * The other end: the security team's receiver, a process of its own. It refuses the first request,
 * as receivers do while they are being deployed, and tells what it accepted when asked.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verify } from 'security-event-delivery';
import { received } from 'security-event-delivery/contract';

/** What the receiver tells about itself, to the process that started it. */
export interface ReceiverReport {
  /** The messages it has, each once. */
  readonly accepted: readonly { readonly messageType: string; readonly retryCount: number }[];
  readonly refusedSignatures: number;
  readonly refusedBodies: number;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;
const secret = process.env['WEBHOOK_SECRET'] ?? '';
const isForgetful = process.env['EXAMPLE_FAULT'] === 'lost-message';

const accepted = new Map<string, ReceiverReport['accepted'][number]>();
let requestCount = 0;
let refusedSignatures = 0;
let refusedBodies = 0;

const say = (text: string): boolean => process.stderr.write(`receiver    ${text}\n`);

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Decides the status, which is all that the sender looks at. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await readBody(request);
  if (body === undefined) return 413;
  // The signature covers the bytes as they came in: verify them before anything else is done.
  if (!verify(body, request.headers['x-svc-integrity'], secret)) {
    refusedSignatures += 1;
    say('401: the signature does not fit the body');
    return 401;
  }
  requestCount += 1;
  if (requestCount === 1) {
    say('503: the first request is refused, signature ok');
    return 503;
  }
  const messages = received.WebhookBodyV2.safeParse(JSON.parse(body.toString()));
  if (!messages.success) {
    refusedBodies += 1;
    say('400: the body does not follow the contract');
    return 400;
  }
  for (const { message_id, message_type, retry_count } of messages.data) {
    say(`204: ${message_type}, retry_count ${retry_count}, signature ok`);
    if (isForgetful && message_type === 'security_response') continue;
    // A message may come twice, for its first answer may be lost on the way: message_id tells.
    accepted.set(String(message_id), { messageType: message_type, retryCount: retry_count });
  }
  return 204;
}

const server = createServer((request, response) => {
  receive(request)
    .then((status) => response.writeHead(status).end())
    .catch(() => response.destroy());
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

process.once('message', () => {
  const report: ReceiverReport = {
    accepted: [...accepted.values()],
    refusedSignatures,
    refusedBodies,
  };
  process.send?.(report, () => process.disconnect());
});
// Also when the process that started this one has died: a receiver must not outlive it.
process.once('disconnect', () => {
  server.close();
  server.closeAllConnections();
});
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/security`);
