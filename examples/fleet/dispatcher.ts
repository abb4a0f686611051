/** A dispatcher: it knows the URLs and secrets, and delivers. Any number of dispatchers share the work. */
import process from 'node:process';
import { createWebhookSender } from 'security-event-delivery';
import { APPLICATIONS, openQueue } from './shared.ts';

const { RECEIVER_URL = '', WEBHOOK_SECRET = '' } = process.env;

const sender = createWebhookSender({
  queue: openQueue(),
  role: 'deliver',
  settings: {
    applications: Object.fromEntries(
      APPLICATIONS.map((id) => [
        id,
        {
          name: id,
          environment: 'production',
          url: `${RECEIVER_URL}/${id}`,
          secret: WEBHOOK_SECRET,
        },
      ]),
    ),
  },
  network: 'allow-private', // the receiver is on this machine
  userAgent: process.argv[2] ?? 'dispatcher',
  maxMessages: 50,
  schedule: { delaysMs: [200, 500, 1000, 5000] },
  // A dispatcher that dies holds its messages no longer than this.
  deadlineMs: 1500,
  leaseMs: 3000,
});

process.on('disconnect', () => void sender.close({ deadlineMs: 2000 }));
process.send?.('ready');
