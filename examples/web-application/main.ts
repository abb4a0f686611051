/** A shop on Express reports attacks and logins, to its log and to a security team's webhook. */
import express from 'express';
import { createReporter, generateSecret, type Receipt } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { answerBlocked, captureRequests } from 'security-event-delivery/express';
import { createWebhookReceiver, nodeHandler } from 'security-event-delivery/receiver';
import { serve, visit } from '../http.ts';
import { printTable, say, shorten } from '../story.ts';

// The security team's receiver. Its first answer is an error.
const secret = generateSecret();
const retryCounts = new Map<unknown, number>(); // by message id
let isStarting = true;
const receiver = createWebhookReceiver({
  secret,
  // An error in onMessages becomes a 500.
  onMessages(messages) {
    const status = isStarting ? 500 : 204;
    say('receiver', `${status} for ${messages.length} messages; their signature is verified`);
    if (isStarting) {
      isStarting = false;
      throw new Error('the receiver is starting');
    }
    for (const { id, format, message } of messages) {
      if (format === 2) retryCounts.set(id, message.retry_count);
    }
  },
});
const team = await serve(nodeHandler(receiver));

// The shop.
const receipts: Receipt[] = [];
const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
  webhook: {
    url: `${team.url}/hooks`,
    secret,
    network: 'allow-private', // the receiver is on this machine
    schedule: { delaysMs: [500] }, // retry sooner than by default
  },
});
const app = express();
app.use(captureRequests({ trustedProxies: 'loopback' }), express.json());
const reportAttack = () => {
  receipts.push(reporter.attack({ ruleset: 'sql_injection' }));
  receipts.push(reporter.playbookTrigger({ name: 'Block IPs' }));
};
app.get('/products', ({ query }, response) => {
  if (/union select/i.test(JSON.stringify(query))) blockRequest(reportAttack);
  response.send('shoes');
});
app.post('/login', (request, response) => {
  identify({ email: request.body.email });
  response.sendStatus(401);
  receipts.push(reporter.userLogin({ success: false }));
});
app.use(answerBlocked());
const shop = await serve(app);

await visit('192.0.2.44', `${shop.url}/products?search=shoes`);
await visit('203.0.113.9', `${shop.url}/products?search=1 union select 2`);
await visit('192.0.2.44', `${shop.url}/login`, { email: 'ada@example.com', password: 'a guess' });

const { delivered } = await reporter.close();
shop.close();
team.close();
say('shop', `${lines.length} log records are written, ${delivered} of 2 messages are delivered`);
say('shop', 'the first log record begins:');
console.log(shorten(lines[0]));
const rows = receipts.map(async ({ record, message_id, settled }) => {
  const { outcome, reason } = await settled;
  const { actor, http } = record?.context ?? {};
  const message = message_id ? `${outcome}, retry_count ${retryCounts.get(message_id)}` : reason;
  return [record?.event_name, actor?.ip?.address, http?.response?.status, message];
});
printTable([['Log record', 'Client', 'Answer', 'Webhook message'], ...(await Promise.all(rows))]);
process.exitCode = delivered === 2 ? 0 : 1;
