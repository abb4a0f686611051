/**
 * Many destinations: one message for each of many applications, until all have been answered, by the sender and by
 * a bare loop over undici's Agent with 64 connections that signs each body. The receiver is one process; as many
 * addresses below 127.0.0.0/8 are as many origins.
 */
import { createHmac } from 'node:crypto';
import { envelope, SECRET, securityEvents } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';

const CONNECTIONS = 64;
const MESSAGES_PER_CALL = 1000;
const WARM_UP_APPLICATIONS = 2000;

/** Of an application of this number. */
const urlOf = (port, origins) => (index) => {
  const number = index % origins;
  return `http://127.0.${Math.floor(number / 250)}.${1 + (number % 250)}:${port}/hooks/security`;
};

function draftsFor(count, { prefix, messagesEach }) {
  const drafts = securityEvents(count * messagesEach);
  for (const [index, draft] of drafts.entries()) {
    draft.message.application_id = `${prefix}-${index % count}`;
  }
  return drafts;
}

async function sender(urlFor, ids) {
  const { createWebhookSender } = await import('security-event-delivery');
  const applications = Object.fromEntries(
    ids.map((id, index) => [
      id,
      { name: 'shop', environment: 'production', url: urlFor(index), secret: SECRET },
    ]),
  );
  const webhooks = createWebhookSender({
    settings: { applications },
    network: 'allow-private',
    maxPendingMessages: 1_000_000,
    maxPendingBytes: 2 ** 31,
  });
  return {
    deliver: async (drafts) => {
      for (let at = 0; at < drafts.length; at += MESSAGES_PER_CALL) {
        await webhooks.send(drafts.slice(at, at + MESSAGES_PER_CALL));
      }
      await webhooks.flush();
    },
    close: () => webhooks.close(),
  };
}

function grouped(drafts) {
  const groups = new Map();
  for (const draft of drafts) {
    const id = draft.message.application_id;
    groups.set(id, [...(groups.get(id) ?? []), draft]);
  }
  return [...groups.values()];
}

/** Each application's messages in one request, 64 requests at a time. */
async function bareLoop(urlFor) {
  const { Agent, request } = await import('undici');
  const { v7 } = await import('uuid');
  const dispatcher = new Agent({ connections: CONNECTIONS });
  const post = async (url, drafts) => {
    const date = new Date().toISOString().replace('Z', '+00:00');
    const body = Buffer.from(JSON.stringify(drafts.map((draft) => envelope(draft, v7(), date))));
    const headers = {
      'Content-Type': 'application/json',
      'X-Svc-Integrity': createHmac('sha256', SECRET).update(body).digest('hex'),
    };
    const response = await request(url, { method: 'POST', headers, body, dispatcher });
    await response.body.dump();
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  };
  return {
    deliver: async (drafts) => {
      const byApplication = grouped(drafts);
      let next = 0;
      const slot = async () => {
        while (next < byApplication.length) {
          next += 1;
          await post(urlFor(next - 1), byApplication[next - 1]);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, slot));
    },
    close: () => dispatcher.close(),
  };
}

const delivering =
  (open, origins, messagesEach = 1) =>
  async () => {
    const receiver = await startReceiver('0.0.0.0');
    const urlFor = urlOf(new URL(receiver.url).port, origins);
    const form = { messagesEach };
    let ways;
    let drafts;
    return {
      prepare: async (count) => {
        const prefixes = { warm: WARM_UP_APPLICATIONS, app: count };
        const ids = Object.entries(prefixes).flatMap(([prefix, size]) =>
          Array.from({ length: size }, (_, index) => `${prefix}-${index}`),
        );
        ways = await open(urlFor, ids);
        drafts = draftsFor(count, { ...form, prefix: 'app' });
      },
      warmUp: () => ways.deliver(draftsFor(WARM_UP_APPLICATIONS, { ...form, prefix: 'warm' })),
      run: () => ways.deliver(drafts),
      check: async (count) => {
        const { messages } = await receiver.totals();
        const expected = (count + WARM_UP_APPLICATIONS) * messagesEach;
        if (messages !== expected) throw new Error(`${messages} of ${expected} messages arrived`);
      },
      close: async () => {
        await ways.close();
        receiver.stop();
      },
    };
  };

export const sides = {
  'sender, 1 origin': delivering(sender, 1),
  'bare loop, 1 origin': delivering(bareLoop, 1),
  'sender, 200 origins': delivering(sender, 200),
  'bare loop, 200 origins': delivering(bareLoop, 200),
};
