/** A back end sends a batch of messages now. Its receiver is busy at first, and the batch is retried. */
import { generateSecret, type MessageToSend, sendWebhook } from 'security-event-delivery';
import { startReceiver } from 'security-event-delivery/testing';
import { printTable, say } from '../story.ts';

const secret = generateSecret();
const receiver = await startReceiver({ secret, script: [{ status: 503 }] }); // 200 from then on

const block = (address: string): MessageToSend => ({
  message_type: 'security_response',
  message: {
    application: { name: 'shop', environment: 'production', id: 'shop-1' },
    properties: { ips: [{ ip_cidr: `${address}/32` }], user_identifiers: [] },
    playbook: { name: 'Block IPs', id: 'block_ips' },
  },
});
const messages = [block('203.0.113.9'), block('203.0.113.10')];
const report = await sendWebhook({ url: receiver.url, secret }, messages, {
  network: 'allow-private', // the receiver is on this machine
});
await receiver.close();

say('back end', `${report.delivered.length} of ${messages.length} messages are delivered`);
printTable([
  ['Request', 'Messages', 'Status', 'Outcome', 'retry_count', 'Signature'],
  ...report.requests.map(({ message_ids, status, outcome, retry_count }, index) => [
    index + 1,
    message_ids.length,
    status,
    outcome,
    retry_count,
    receiver.requests[index]?.signatureOk ? 'verified' : 'wrong',
  ]),
]);
process.exitCode = report.ok ? 0 : 1;
