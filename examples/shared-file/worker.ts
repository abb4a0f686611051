/** A worker: it puts messages into the file, and delivers what waits there. */
import { once } from 'node:events';
import process from 'node:process';
import { createWebhookSender } from 'security-event-delivery';
import { createSqliteQueue } from 'security-event-delivery/queue/sqlite';
import { sampleMessageToSend } from 'security-event-delivery/testing';
import { say } from '../story.ts';

const { WORKER = '', QUEUE_FILE = '', RECEIVER_URL = '', WEBHOOK_SECRET = '' } = process.env;

const sender = createWebhookSender({
  url: RECEIVER_URL,
  secret: WEBHOOK_SECRET,
  queue: createSqliteQueue({ file: QUEUE_FILE }),
  network: 'allow-private', // the receiver is on this machine
  userAgent: WORKER,
  maxMessages: 10,
  deadlineMs: 1000,
  leaseMs: 2000, // if this worker is killed, its messages are due again after this time
});
const ids = Array.from({ length: 100 }, (_, index) => `${WORKER}-${index}`);
await sender.send(ids.map((id) => sampleMessageToSend('security_event', { message_id: id })));
say(WORKER, '100 messages are accepted: they are in the file');
process.send?.('accepted');
await once(process, 'disconnect');
await sender.close();
