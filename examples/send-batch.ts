/** A back end that sends a batch, against a receiver that lives as long as this program. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { generateSecret, sendWebhook, verify } from 'security-event-delivery';
import type { WebhookMessageToSend } from 'security-event-delivery/contract';

const secret = generateSecret();

const receiver = createServer((request, response) => {
  buffer(request)
    .then((body) => verify(body, request.headers['x-svc-integrity'], secret))
    .then((isOurs) => response.writeHead(isOurs ? 204 : 401).end())
    .catch(() => response.destroy());
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks/security`;

const blocked = (address: string): WebhookMessageToSend => ({
  message_type: 'security_response',
  message: {
    application: { name: 'shop', environment: 'production', id: 'shop-1' },
    properties: { ips: [{ ip_cidr: `${address}/32` }], user_identifiers: [] },
    playbook: { name: 'Block IPs', id: 'block_ips' },
  },
});

const messages = [blocked('203.0.113.9'), blocked('203.0.113.10')];
// The receiver of this example is on this machine.
const report = await sendWebhook({ url, secret }, messages, { network: 'allow-private' });
receiver.close();

console.log(`delivered ${report.delivered.length} of 2 in ${report.requests.length} request`);
process.exitCode = report.ok ? 0 : 1;
