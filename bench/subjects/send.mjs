/**
 * Sends to a receiver in another process, one request in flight at a time. Both sides get the same
 * messages and send the same number of bytes.
 */
import { createHmac } from 'node:crypto';
import { envelope, SECRET, securityEvents } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';

const MESSAGES_PER_REQUEST = 1000;
const MESSAGE_BYTES = 743;
const WARM_UP = { batches: 20 * MESSAGES_PER_REQUEST, singly: 500 };

/** Returns the size of a body, including brackets and commas. */
const bodyBytes = (count) => count * MESSAGE_BYTES + 2 + count - 1;

/** `send` sends a list of messages. The form `singly` calls it once per message. */
const sending = (makeSend, form) => async () => {
  const receiver = await startReceiver();
  const send = await makeSend(receiver.url);
  const warmUp = securityEvents(WARM_UP[form]);
  let drafts;
  const run = async (messages) => {
    const calls = form === 'batches' ? [messages] : messages.map((message) => [message]);
    for (const call of calls) await send(call);
  };
  return {
    prepare: (count) => {
      drafts = securityEvents(count);
    },
    warmUp: () => run(warmUp),
    run: () => run(drafts),
    check: async (count) => {
      const found = await receiver.totals();
      const messages = count + warmUp.length;
      const size = form === 'batches' ? MESSAGES_PER_REQUEST : 1;
      const requests = messages / size;
      const expected = { requests, messages, bytes: requests * bodyBytes(size) };
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`received ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
      }
    },
    close: () => receiver.stop(),
  };
};

async function ours(url) {
  const { sendWebhook } = await import('security-event-delivery');
  return async (drafts) => {
    const report = await sendWebhook({ url, secret: SECRET }, drafts, { network: 'allow-private' });
    if (!report.ok) throw new Error('not everything was delivered');
  };
}

export async function plainLoop(url) {
  const { request } = await import('undici');
  const { v7 } = await import('uuid');
  const post = async (drafts) => {
    const date = new Date().toISOString().replace('Z', '+00:00');
    const body = Buffer.from(JSON.stringify(drafts.map((draft) => envelope(draft, v7(), date))));
    const headers = {
      'Content-Type': 'application/json',
      'X-Svc-Integrity': createHmac('sha256', SECRET).update(body).digest('hex'),
    };
    const response = await request(url, { method: 'POST', headers, body });
    await response.body.dump();
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  };
  return async (drafts) => {
    for (let at = 0; at < drafts.length; at += MESSAGES_PER_REQUEST) {
      await post(drafts.slice(at, at + MESSAGES_PER_REQUEST));
    }
  };
}

export const sides = {
  ours: sending(ours, 'batches'),
  'plain loop': sending(plainLoop, 'batches'),
  'ours singly': sending(ours, 'singly'),
  'plain loop singly': sending(plainLoop, 'singly'),
};
