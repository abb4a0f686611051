/** The cases of `createWebhookSender` and `sendWebhook`, up to the socket. */

import { readSenderOptions, readSendOptions } from '../../src/delivery/read-options.ts';
import { senderSchedule } from '../../src/delivery/retry-policy.ts';
import { sendNow } from '../../src/delivery/send-webhook.ts';
import { createWebhookSender, type WebhookSender } from '../../src/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { QueueEntry } from '../../src/queue/queue.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { PostRequest } from '../../src/webhook/http/client.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { SECRET } from '../helpers/sender.ts';
import { countedIds } from '../reporter/open-reporter.ts';
import { type Case, plain, throughout, withJson, withZod } from './law.ts';

const ONE = { url: 'https://receiver.example/', secret: SECRET };
const SHOP = { name: 'Shop', environment: 'test' };

/** The code behind the boundary reads an object by these names, while the pollution lasts. */
const readBy = (value: object, names = ['delaysMs', 'maxWaitMs', 'repeatLast', 'horizonMs']) =>
  names.map((name): unknown => Reflect.get(value, name));

const lacking = (key: string, values: readonly object[]) =>
  values.map((value) => Object.fromEntries(Object.entries(value).filter(([name]) => name !== key)));
const drafts = lacking('v1', lacking('message_id', Object.values(DRAFTS)));
const elements = lacking('id', [ELEMENTS['security_event (v1)'], ELEMENTS['test (v1)']]);

/** Without a socket; test/webhook/http/polluted-posts.integration.test.ts has one. */
async function sent(messages: readonly unknown[], format: 1 | 2, ...statuses: number[]) {
  const posts: unknown[] = [];
  const post = ({ url, body, headers, tls }: PostRequest) => {
    posts.push([url, body.toString(), headers, tls]);
    const status = statuses[posts.length - 1] ?? 200;
    const response = { kind: 'response', status, retryAfter: undefined } as const;
    return Promise.resolve({ ...response, timings: { totalMs: 0 }, reusedConnection: false });
  };
  const clock = createFakeClock();
  const system = {
    clock: { ...clock, sleep: (ms: number) => Promise.resolve(clock.elapse(ms)) },
    random: () => 0.5,
    newId: countedIds(),
    createPoster: () => ({ post, close: async () => {} }) as never,
  };
  const call = { destination: ONE, messages, options: { format } };
  return { report: await sendNow(call, system), posts };
}

export const contentOf = ({ stored, sizeBytes, applicationId }: QueueEntry) => [
  stored.bytes.toString(),
  stored.messageId,
  String(sizeBytes),
  applicationId,
];

const SELECTING = { ...SHOP, modules: { waf: true }, playbooks: { Notify: true } };

type UseSender = (title: string, act: (sender: WebhookSender) => Promise<unknown>) => Case;

/** A case of the answer, and of what was put into the queue. */
function senderOf(format: 1 | 2): UseSender {
  const entries: QueueEntry[] = [];
  const queue = wrapQueue(createMemoryQueue(), {
    enqueue: (given) => {
      entries.push(...given);
      return Promise.resolve({ sequences: [], closed: [] });
    },
  });
  const settings = { format, applications: { 'app-1': SELECTING } };
  const sender = createWebhookSender({ role: 'enqueue', queue, settings } as never);
  return (title, act) =>
    plain(title, async (during) => {
      const answer = await during(() => act(sender));
      return { answer, queued: entries.splice(0).map(contentOf) };
    });
}
const ofV2 = senderOf(2);
const ofV1 = senderOf(1);
const named = drafts.map((draft, index) => ({ ...draft, message_id: `m-${index}` })) as never[];

export const SENDER_CASES = [
  withZod(
    throughout('reading its options', () => {
      const application = { ...SHOP, id: 'a' };
      const { source: _source, ...settings } = readSenderOptions({ ...ONE, application });
      return [settings, readBy(settings.policy.schedule)];
    }),
  ),
  withZod(ofV2('sending to v2', (sender) => sender.send(named))),
  withJson(withZod(ofV1('sending to v1', (sender) => sender.send(named)))),
  withZod(ofV2('sending no message', (sender) => sender.send([named[0], {}] as never))),
  ofV2('asked for dead letters and counts', async (sender) => [
    await sender.deadLetters({}),
    await sender.replay({}),
    await sender.purge({}),
    await sender.flush({}),
    await sender.stats(),
  ]),
];

export const SEND_CASES = [
  throughout('reading its options', () => {
    const settings = readSendOptions(ONE, {});
    return [settings, readBy(settings.schedule), readBy(senderSchedule({}, 9))];
  }),
  throughout('with an unknown option', () => readSendOptions(ONE, { evil: 1 })),
  withZod(throughout('of v2', () => sent(drafts, 2, 503))),
  withJson(withZod(throughout('of v1', () => sent(elements, 1, 503)))),
  withZod(throughout('of refused requests', () => sent(drafts, 2, 413, 400))),
  withZod(throughout('of no message', () => sent([drafts[0], {}], 2))),
];
