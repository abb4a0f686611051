/**
 * The other end: a security team's receiver, a process of its own. It refuses the first request, as
 * receivers do while they are being deployed, and tells what it accepted when asked.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { verify } from 'security-event-delivery';
import { received } from 'security-event-delivery/contract';
import { listening } from './listening.ts';

/** A message as the receiver keeps it. */
interface Accepted {
  /** By what it is known again. */
  readonly id: string;
  readonly type: string;
  /** Format 1 does not tell. */
  readonly retryCount?: number;
}

/** What the receiver tells about itself, to the process that started it. */
export interface ReceiverReport {
  /** The messages it has, each once. */
  readonly accepted: readonly Accepted[];
  /** The ids of the messages in the request that it refused. */
  readonly refused: readonly string[];
  readonly refusedSignatures: number;
  readonly refusedBodies: number;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;
const name = process.env['RECEIVER_NAME'] ?? '';
const secret = process.env['WEBHOOK_SECRET'] ?? '';
const format = process.env['WEBHOOK_FORMAT'] === '1' ? 1 : 2;
const isForgetful = process.env['EXAMPLE_FAULT'] === 'lost-message';

/** By id: a message may come twice, for its first answer may be lost on the way. */
const accepted = new Map<string, Accepted>();
let refused: readonly string[] | undefined;
let refusedSignatures = 0;
let refusedBodies = 0;

const say = (text: string): boolean => process.stderr.write(`receiver    ${name} ${text}\n`);

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

/** Each format in its own way; `undefined` for a body that breaks the contract. */
const READ = {
  1: (body: unknown): Accepted[] | undefined =>
    received.WebhookBodyV1.safeParse(body).data?.map((element) => ({
      id: String('event_id' in element ? element.event_id : element.id),
      type: element.svc_payload_type,
    })),
  2: (body: unknown): Accepted[] | undefined =>
    received.WebhookBodyV2.safeParse(body).data?.map((message) => ({
      id: String(message.message_id),
      type: message.message_type,
      retryCount: message.retry_count,
    })),
};

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
  const messages = READ[format](JSON.parse(body.toString()));
  if (messages === undefined) {
    refusedBodies += 1;
    say('400: the body does not follow the contract');
    return 400;
  }
  if (refused === undefined) {
    refused = messages.map(({ id }) => id);
    say('503: the first request is refused, signature ok');
    return 503;
  }
  for (const message of messages) {
    const { id, type, retryCount } = message;
    say(
      `204: ${type}${retryCount === undefined ? '' : `, retry_count ${retryCount}`}, signature ok`,
    );
    if (isForgetful && type === 'security_response') continue;
    accepted.set(id, message);
  }
  return 204;
}

const { url, close } = await listening(
  createServer((request, response) => {
    receive(request)
      .then((status) => response.writeHead(status).end())
      .catch(() => response.destroy());
  }),
);

process.once('message', () => {
  const report: ReceiverReport = {
    accepted: [...accepted.values()],
    refused: refused ?? [],
    refusedSignatures,
    refusedBodies,
  };
  process.send?.(report, () => process.disconnect());
});
// Also when the process that started this one has died: a receiver must not outlive it.
process.once('disconnect', close);
process.send?.(`${url}/hooks/security`);
