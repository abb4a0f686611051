/**
 * The other end: a security team's receiver, a process of its own. It refuses the first request, as
 * receivers do while they are being deployed, and tells what it accepted when asked.
 */
import { createServer } from 'node:http';
import {
  createWebhookReceiver,
  nodeHandler,
  type ReceivedMessage,
  type RefusalReason,
} from 'security-event-delivery/receiver';
import { listening } from './listening.ts';

/** A message as this receiver keeps it. */
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

const name = process.env['RECEIVER_NAME'] ?? '';
const secret = process.env['WEBHOOK_SECRET'] ?? '';
const isForgetful = process.env['EXAMPLE_FAULT'] === 'lost-message';

const accepted: Accepted[] = [];
let refused: readonly string[] | undefined;
const refusals: RefusalReason[] = [];

const say = (text: string): boolean => process.stderr.write(`receiver    ${name} ${text}\n`);

/** Either format: each message tells which it is of. */
function kept({ id, format, message }: ReceivedMessage): Accepted {
  const common = { id: String(id) };
  return format === 1
    ? { ...common, type: message.svc_payload_type }
    : { ...common, type: message.message_type, retryCount: message.retry_count };
}

/** Gets what is genuine, follows the contract and was not there before. */
function take(messages: readonly ReceivedMessage[]): void {
  if (refused === undefined) {
    refused = messages.map(({ id }) => String(id));
    say('500: the first request is refused, signature ok');
    throw new Error('this receiver is being deployed');
  }
  for (const message of messages.map(kept)) {
    const { type, retryCount } = message;
    const again = retryCount === undefined ? '' : `, retry_count ${retryCount}`;
    say(`204: ${type}${again}, signature ok`);
    if (isForgetful && type === 'security_response') continue;
    accepted.push(message);
  }
}

const receiver = createWebhookReceiver({
  secret,
  onMessages: take,
  // It has a message once it has answered, and where it throws, the sender tries again.
  answer: 'handled',
  onRefused: ({ reason, status }) => {
    refusals.push(reason);
    if (reason !== 'failed') say(`${status}: ${reason}`);
  },
});
const { url, close } = await listening(createServer(nodeHandler(receiver)));

const countRefused = (...reasons: readonly RefusalReason[]): number =>
  refusals.filter((reason) => reasons.includes(reason)).length;

process.once('message', () => {
  const report: ReceiverReport = {
    accepted,
    refused: refused ?? [],
    refusedSignatures: countRefused('signature-missing', 'signature-wrong'),
    refusedBodies: countRefused('body-invalid', 'message-invalid'),
  };
  process.send?.(report, () => process.disconnect());
});
// Also when the process that started this one has died: a receiver must not outlive it.
process.once('disconnect', close);
process.send?.(`${url}/hooks/security`);
