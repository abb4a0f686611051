/** An agent in an application: it only enqueues, and needs neither URLs nor secrets. */
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { createWebhookSender, type MessageToSend } from 'security-event-delivery';
import { APPLICATIONS, MESSAGES_OF_AN_AGENT, openQueue, say } from './shared.ts';

const name = process.argv[2] ?? 'agent';

const applications = Object.fromEntries(
  APPLICATIONS.map((id) => [id, { name: id, environment: 'production' }]),
);
const sender = createWebhookSender({
  queue: openQueue(),
  role: 'enqueue',
  settings: { applications },
});

const messageOf = (index: number): MessageToSend => ({
  message_id: `${name}-${index}`,
  message_type: 'security_response',
  message: {
    application: {
      name: APPLICATIONS[index % APPLICATIONS.length] ?? '',
      environment: 'production',
      id: APPLICATIONS[index % APPLICATIONS.length] ?? '',
    },
    properties: { ips: [{ ip_cidr: '203.0.113.9/32' }], user_identifiers: [] },
    playbook: { name: 'Block IPs', id: 'block_ips' },
  },
});

/** A rejected call may have stored its messages: it is repeated with the same ids. */
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
let repeated = 0;
for (let first = 0; first < MESSAGES_OF_AN_AGENT; first += 20) {
  const messages = Array.from({ length: 20 }, (_, index) => messageOf(first + index));
  accepted += await sendUntilAccepted(messages);
  await wait(100);
}
await sender.close();
say(name, `${accepted} messages were accepted; ${repeated} calls were rejected and repeated`);
