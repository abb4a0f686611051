import type { Refusal } from '../../src/receiver/index.ts';
import * as entry from '../../src/receiver/index.ts';
import { sign } from '../../src/webhook/signature.ts';
import { ELEMENTS, MESSAGES } from '../contract/samples.ts';
import { SECRET } from '../helpers/sender.ts';
import { plain, throughout, unchangedByPollution, withGaps, withZod } from './law.ts';

const {
  createMemoryDuplicates,
  createWebhookReceiver,
  explainSignature,
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  isFresh,
  nodeHandler,
  parseBody,
  verify,
} = entry;

const BODY = JSON.stringify([...Object.values(MESSAGES), ...Object.values(ELEMENTS)]);
const FAULTY = JSON.stringify([MESSAGES.test, {}]);
const { date_created } = MESSAGES.test;
const now = Date.parse(date_created) + 1;

const headersOf = (body: string, secret: string) => ({
  'content-type': 'application/json',
  'x-svc-integrity': sign(body, secret),
});

/** What is answered to a request, and what the handlers are given. */
async function received(body: string, secret: string, more = {}) {
  const headers = new Map(Object.entries(headersOf(body, secret)));
  const readBody = () => Promise.resolve(Buffer.from(body));
  const handed: unknown[] = [];
  const hear = (...heard: readonly unknown[]) => void handed.push(...heard);
  const refuse = ({ reason, status }: Refusal) => void handed.push(reason, status);
  const options = { secret: SECRET, onMessages: hear, onRefused: refuse, onError: hear, ...more };
  const answer = await createWebhookReceiver(options).receive({
    method: 'POST',
    header: (name) => headers.get(name),
    readBody,
  });
  await answer.handle?.();
  return { status: answer.status, headers: answer.headers, text: answer.text, handed };
}

/** What an adapter's request and response are: only as much as is used of them. */
function exchange(body: string) {
  const answered: unknown[] = [];
  const request = {
    method: 'POST',
    headers: headersOf(body, SECRET),
    on: (event: string, listener: (chunk: Uint8Array) => void) => {
      if (event === 'data') listener(Buffer.from(body));
      if (event === 'end') queueMicrotask(listener as () => void);
    },
    off: () => {},
    destroy: () => void answered.push('destroyed'),
  };
  const response = {
    statusCode: 0,
    setHeader: (...header: readonly string[]) => void answered.push(header),
    end: (text: string) => void answered.push(text),
  };
  return { request, response, answered };
}

const receiver = createWebhookReceiver({ secret: SECRET, onMessages: () => {} });
const settled = async () => {
  for (let tick = 0; tick < 20; tick += 1) await Promise.resolve();
};

const adapted =
  (body: string, use: (given: ReturnType<typeof exchange>) => unknown) => async () => {
    const given = exchange(body);
    await use(given);
    await settled();
    return [given.response.statusCode, given.answered];
  };

const overExpress = adapted('[]', ({ request, response }) =>
  expressHandler(receiver)(request, response, (error) => {
    throw error;
  }),
);
const overNode = adapted('[]', ({ request, response }) => nodeHandler(receiver)(request, response));
const overFastify = adapted('[]', ({ request, response }) => {
  type App = Parameters<ReturnType<typeof fastifyPlugin>>[0];
  const app: App = {
    removeAllContentTypeParsers: () => {},
    addContentTypeParser: () => {},
    post: (path, handler) => {
      response.setHeader('x-path', path);
      return handler({ raw: request }, { raw: response, hijack: () => {} });
    },
  };
  return fastifyPlugin(receiver)(app);
});

unchangedByPollution(entry, {
  createMemoryDuplicates: [
    throughout('', () => {
      const duplicates = createMemoryDuplicates({});
      duplicates.add(['a']);
      return duplicates.has(['a', 'b']);
    }),
  ],
  createWebhookReceiver: [
    withZod(throughout('', () => received(BODY, SECRET))),
    withZod(throughout('of an invalid message', () => received(FAULTY, SECRET))),
    withZod(throughout('of a stale request', () => received(BODY, SECRET, { toleranceMs: 1 }))),
    throughout('of another signature', () => received(BODY, 'other')),
    throughout('without onMessages', () => createWebhookReceiver({ secret: 'a' } as never)),
  ],
  explainSignature: [throughout('', () => explainSignature('a', 'nonsense', 'b'))],
  expressHandler: [throughout('', overExpress)],
  fastifyPlugin: [throughout('', overFastify)],
  fetchHandler: [
    withGaps(
      plain('', async (during) => {
        const request = new Request('https://receiver.example/');
        const { status, headers } = await during(() => fetchHandler(receiver, {})(request));
        return [status, headers.get('allow')];
        // Node's Response and its streams ask for their options by name.
      }),
      'cancel pull start type statusText',
    ),
  ],
  isFresh: [
    throughout('', () =>
      [0, 300_000].map((more) => isFresh({ date_created }, { now: now + more })),
    ),
  ],
  nodeHandler: [throughout('', overNode)],
  parseBody: [
    withZod(throughout('', () => parseBody(BODY))),
    withZod(throughout('of no message', () => parseBody(FAULTY))),
    throughout('of no array', () => parseBody('{}')),
  ],
  verify: [throughout('', () => verify('a', sign('a', 'b'), 'b'))],
});
