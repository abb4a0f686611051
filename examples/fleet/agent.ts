/** An agent in an application: it only enqueues, and needs neither URLs nor secrets. */
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { createWebhookSender, type MessageToSend } from 'security-event-delivery';
import { say } from '../story.ts';
import { APPLICATIONS, MESSAGES_OF_AN_AGENT, openQueue } from './queue.ts';

const { NAME = '' } = process.env;

const sender = createWebhookSender({
  queue: openQueue(),
  role: 'enqueue',
  settings: { applications: Object.fromEntries(APPLICATIONS.map((id) => [id, {}])) },
});

function messageOf(index: number): MessageToSend {
  const id = APPLICATIONS[index % APPLICATIONS.length] ?? '';
  return {
    message_id: `${NAME}-${index}`,
    message_type: 'security_response',
    message: {
      application: { name: id, environment: 'production', id },
      properties: { ips: [{ ip_cidr: '203.0.113.9/32' }], user_identifiers: [] },
      playbook: { name: 'Block IPs', id: 'block_ips' },
    },
  };
}

let repeated = 0;

/** Repeats a rejected call with the same ids: it may have stored its messages. */
async function sendUntilAccepted(messages: readonly MessageToSend[]): Promise<number> {
  for (;;) {
    try {
      return (await sender.send(messages)).accepted.length;
    } catch {
      repeated += 1;
      await wait(200);
    }
  }
}

let accepted = 0;
for (let first = 0; first < MESSAGES_OF_AN_AGENT; first += 20) {
  const messages = Array.from({ length: 20 }, (_, index) => messageOf(first + index));
  accepted += await sendUntilAccepted(messages);
  await wait(100);
}
await sender.close();
say(NAME, `${accepted} messages are accepted; calls rejected and repeated: ${repeated}`);
