/** A dispatcher: it knows the URLs and secrets, and delivers. Any number of dispatchers share the work. */
import process from 'node:process';
import { createWebhookSender } from 'security-event-delivery';
import { APPLICATIONS, openQueue } from './queue.ts';

const { NAME = '', RECEIVER_URL = '', WEBHOOK_SECRET = '' } = process.env;

const destination = { url: RECEIVER_URL, secret: WEBHOOK_SECRET };
const sender = createWebhookSender({
  queue: openQueue(),
  role: 'deliver',
  settings: { applications: Object.fromEntries(APPLICATIONS.map((id) => [id, destination])) },
  network: 'allow-private', // the receiver is on this machine
  userAgent: NAME,
  maxMessages: 50,
  schedule: { delaysMs: [200, 500, 1000, 5000] },
  deadlineMs: 1500,
  leaseMs: 3000, // the messages of a killed dispatcher are due again after this time
});

process.on('disconnect', () => void sender.close({ deadlineMs: 2000 }));
process.send?.('ready');
