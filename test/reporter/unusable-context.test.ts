/** Unusable actors and webhook overrides: the path of the fault, and which channel still gets the event. */
import { expect, onTestFinished, test } from 'vitest';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import type { RejectedEvent } from '../../src/reporter/rejections.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { openReceiver, SECRET } from '../helpers/sender.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const ADDRESS = 'context.actor.ip.address';

const factsOf = (address: unknown): object => ({ ip: { address, geo: {}, metadata: {} } });

async function reported(context: object) {
  const receiver = await openReceiver();
  const sink = createLineSink();
  const rejected: RejectedEvent[] = [];
  const reporter = createReporter({
    service: SERVICE,
    log: { destination: sink },
    platform: false,
    webhook: { url: receiver.url, secret: SECRET, network: 'allow-private' },
    onRejected: (event) => rejected.push(event),
  });
  onTestFinished(async () => void (await reporter.close({ deadlineMs: 0 })));
  reporter.attack({ ruleset: 'xss' }, context);
  await reporter.flush();
  const faults = rejected.map(({ channel, error: { code, issues } }) => ({
    channel,
    code,
    issues: issues?.map(({ path, message }) => `${path.join('.')}: ${message}`),
  }));
  return {
    faults,
    lines: sink.lines.length,
    messages: receiver.requests.flatMap(({ body }) => JSON.parse(String(body)) as unknown[]),
  };
}

test.each([
  ['null', null, 'context.actor: expected an object, found null'],
  ['a text', 'jane', 'context.actor: expected an object, found a string'],
  ['a text as address', factsOf('here'), `${ADDRESS}: expected an IP address, found a string`],
  ['a number as address', factsOf(7), `${ADDRESS}: expected an IP address, found a number`],
])('an unusable actor (%s) rejects the record; the message has none', async (_, actor, issue) => {
  const { faults, lines, messages } = await reported({ actor });
  expect(faults).toMatchObject([{ channel: 'log', code: 'ERR_INVALID_RECORD' }]);
  expect(faults[0]?.issues?.[0]).toBe(issue);
  expect(lines).toBe(0);
  expect(messages).toMatchObject([{ message: { event_kind: 'xss', ips: [] } }]);
});

test.each([
  ['a number', 5, 'webhook: expected false or an object'],
  ['null', null, 'webhook: expected false or an object'],
  ['an array', [], 'webhook: expected false or an object'],
  [
    'functions within',
    { a: { b: () => 1 } },
    'webhook.a.b: expected a JSON value, found a function',
  ],
])(
  'unusable overrides (%s) reject the message; the record is written',
  async (_, webhook, issue) => {
    const { faults, lines, messages } = await reported({ webhook });
    expect(faults).toEqual([{ channel: 'webhook', code: 'ERR_INVALID_MESSAGE', issues: [issue] }]);
    expect([lines, messages]).toEqual([1, []]);
  },
);
