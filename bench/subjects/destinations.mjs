/**
 * Many destinations: one or ten messages for each of many applications, until all are answered. Compares the sender with
 * a bare loop over undici's Agent with 64 connections that signs each body. The receiver is one process. Each address
 * below 127.0.0.0/8 is another origin.
 */
import { createHmac } from 'node:crypto';
import { applicationAt, envelope, SECRET, securityEvents } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';

const CONNECTIONS = 64;
const MESSAGES_PER_CALL = 1000;
const WARM_UP_APPLICATIONS = 2000;

/** Returns the URL of the application with this number. */
const urlOf =
  ({ protocol, port }, origins) =>
  (index) => {
    const number = index % origins;
    return `${protocol}//127.0.${Math.floor(number / 250)}.${1 + (number % 250)}:${port}/hooks/security`;
  };

function draftsFor(count, { prefix, messagesEach }) {
  const drafts = securityEvents(count * messagesEach);
  for (const [index, draft] of drafts.entries()) {
    draft.message.application_id = `${prefix}-${Math.floor(index / messagesEach)}`;
  }
  return drafts;
}

async function sender(urlFor, ids, ca) {
  const { createWebhookSender } = await import('security-event-delivery');
  const applications = Object.fromEntries(
    ids.map((id, index) => [
      id,
      { ...applicationAt(urlFor(index)), ...(ca === undefined ? {} : { tls: { ca } }) },
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

/** Sends each application's messages in one request, 64 requests at a time. */
async function bareLoop(urlFor, _ids, ca) {
  const { Agent, request } = await import('undici');
  const { v7 } = await import('uuid');
  const connect = ca === undefined ? {} : { connect: { ca } };
  const dispatcher = new Agent({ connections: CONNECTIONS, ...connect });
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
  (open, { origins = 1, messagesEach = 1, rounds = 1, isTls = false }) =>
  async () => {
    const { createCertificate } = await import('security-event-delivery/testing');
    const certificate = isTls ? createCertificate() : undefined;
    const receiver = await startReceiver('0.0.0.0', certificate);
    const urlFor = urlOf(new URL(receiver.url), origins);
    const form = { messagesEach };
    let side;
    let drafts;
    return {
      prepare: async (count) => {
        const applications = count / messagesEach / rounds;
        const prefixes = { warm: WARM_UP_APPLICATIONS, app: applications };
        const ids = Object.entries(prefixes).flatMap(([prefix, size]) =>
          Array.from({ length: size }, (_, index) => `${prefix}-${index}`),
        );
        side = await open(urlFor, ids, certificate?.cert);
        drafts = draftsFor(applications, { ...form, prefix: 'app' });
      },
      warmUp: () => side.deliver(draftsFor(WARM_UP_APPLICATIONS, { ...form, prefix: 'warm' })),
      run: async () => {
        for (let round = 0; round < rounds; round += 1) await side.deliver(drafts);
      },
      check: async (count) => {
        const { messages } = await receiver.totals();
        const expected = count + WARM_UP_APPLICATIONS * messagesEach;
        if (messages !== expected) throw new Error(`${messages} of ${expected} messages arrived`);
      },
      close: async () => {
        await side.close();
        receiver.stop();
      },
    };
  };

const FORMS = {
  '1 origin': {},
  '200 origins': { origins: 200 },
  '10 messages each, twice': { messagesEach: 10, rounds: 2 },
  TLS: { isTls: true },
};

export const sides = Object.fromEntries(
  Object.entries(FORMS).flatMap(([name, form]) => [
    [`sender, ${name}`, delivering(sender, form)],
    [`bare loop, ${name}`, delivering(bareLoop, form)],
  ]),
);
