/** Events that nobody should report: no throw, no hang, no change, and the event comes back. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import { REJECTED_CHANNEL, type RejectedEvent } from '../../src/reporter/rejections.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { untraced } from '../../src/system/untraced.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { openReceiver, SECRET } from '../helpers/sender.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };

async function opened(options: Partial<ReporterOptions> = {}) {
  const receiver = await openReceiver();
  const sink = createLineSink();
  const rejected: RejectedEvent[] = [];
  const reporter = createReporter({
    service: SERVICE,
    log: { destination: sink },
    platform: false,
    webhook: { url: receiver.url, secret: SECRET, network: 'allow-private' },
    onRejected: (event) => rejected.push(event),
    ...options,
  });
  onTestFinished(async () => void (await reporter.close({ deadlineMs: 0 })));
  return { reporter, receiver, sink, rejected };
}

const throwing = (): object =>
  Object.defineProperty({}, 'ruleset', {
    enumerable: true,
    get: () => {
      throw new Error('secret of the host');
    },
  });

const circular = (): object => {
  const object: Record<string, unknown> = { ruleset: 'xss' };
  object['self'] = object;
  return object;
};

const deep = (): object => {
  let object: object = { ruleset: 'xss' };
  for (let depth = 0; depth < 10_000; depth += 1) object = { object };
  return object;
};

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({ ruleset: 'xss' }, {});
  revoke();
  return proxy;
};

const OF_BOTH = [
  ['a throwing getter', throwing],
  ['a cycle', circular],
  ['a BigInt', () => ({ ruleset: 1n })],
  ['a revoked proxy', revoked],
  ['a class instance', () => new Error('of the host')],
  ['too deep a nest', deep],
  ['a function', () => ({ ruleset: () => 'xss' })],
] as const;

describe.each(OF_BOTH)('%s', (_name, make) => {
  test('as a payload comes back from both channels, with its reason', async () => {
    const { reporter, receiver, sink, rejected } = await opened();
    const payload = make();
    const receipt = reporter.attack(payload as never);
    expect(receipt.record).toBeUndefined();
    expect(await receipt.settled).toEqual({ outcome: 'rejected', reason: 'ERR_INVALID_RECORD' });
    expect(rejected.map(({ channel }) => channel)).toEqual(['log', 'webhook']);
    for (const event of rejected) {
      expect(event.method).toBe('attack');
      expect(event.payload).toBe(payload);
      expect(event.error.code).toBe('ERR_INVALID_RECORD');
      expect(event.error.message).not.toContain('secret of the host');
    }
    expect([sink.lines, receiver.requests]).toEqual([[], []]);
    expect(reporter.stats()).toMatchObject({ reported: 1, rejected: { log: 1, webhook: 1 } });
  });

  test('as a context comes back as it was given', async () => {
    const { reporter, rejected } = await opened();
    const context = { http: make() };
    const receipt = reporter.attack({ ruleset: 'xss' }, context as never);
    expect(await receipt.settled).toMatchObject({ outcome: 'rejected' });
    expect(rejected.map((event) => event.context)).toEqual([context, context]);
    expect(rejected[0]?.context).toBe(context);
  });

  test('beside a sound one does not keep that from being told', async () => {
    const { reporter, receiver } = await opened();
    reporter.incident({
      incident_id: 'i',
      incident_type: 'xss',
      name: 'n',
      severity: make() as never,
    });
    const receipt = reporter.attack({ ruleset: 'xss' });
    expect(await receipt.settled).toEqual({ outcome: 'delivered' });
    expect(receiver.requests).toHaveLength(1);
  });
});

test.each([
  ['no object', 7],
  ['null', null],
  ['nothing', undefined],
  ['a word that is none', { ruleset: '' }],
  ['a number for a word', { ruleset: 7 }],
  ['further keys', { ruleset: 'xss', further: 1 }],
])('%s as a payload is refused by its path', async (_name, payload) => {
  const { reporter, sink, rejected } = await opened();
  await reporter.attack(payload as never).settled;
  const [first] = rejected;
  expect(first).toMatchObject({ channel: 'log', payload });
  expect(first?.error.code).toBe('ERR_INVALID_RECORD');
  expect(first?.error.path[0]).toBe('payload');
  expect(sink.lines).toEqual([]);
});

test.each([[7], [null], ['text'], [[]]])(
  '%j in the place of a context does not throw',
  async (context) => {
    const { reporter } = await opened();
    expect(() => reporter.attack({ ruleset: 'xss' }, context as never)).not.toThrow();
  },
);

test('ten million characters are told as they are, without a hang', async () => {
  const { reporter, sink } = await opened({ webhook: undefined as never });
  const text = 'x'.repeat(10_000_000);
  reporter.customEvent('big', { text });
  expect(sink.lines).toHaveLength(1);
  expect(sink.lines[0]?.length).toBeGreaterThan(10_000_000);
});

test('a message that is too large comes back from channel B; the record is written', async () => {
  const { reporter, sink, rejected } = await opened();
  const message = { application: { name: 'x'.repeat(2_000_000), environment: 'e', id: 'shop-1' } };
  const context = {
    webhook: {
      message: {
        ...message,
        properties: { ips: [], user_identifiers: [] },
        playbook: { name: 'n', id: 'n' },
      },
    },
  };
  const receipt = reporter.playbookTrigger({ name: 'Block IPs' }, context);
  expect(await receipt.settled).toEqual({ outcome: 'rejected', reason: 'ERR_MESSAGE_TOO_LARGE' });
  expect(rejected).toMatchObject([{ channel: 'webhook', method: 'playbookTrigger', context }]);
  expect(sink.lines).toHaveLength(1);
});

test('frozen input is told, and nothing that is given is changed', async () => {
  const { reporter, receiver, rejected } = await opened();
  const payload = Object.freeze({
    incident_id: 'i',
    incident_type: 'failed_auth_peak' as const,
    name: 'n',
    severity: 'major' as const,
    related_ips: Object.freeze(['203.0.113.9']),
    compromised_accounts: Object.freeze([
      Object.freeze({ svc_id: 'a', user_identifiers: Object.freeze({ uid: 7 }), ip_address: '' }),
    ]),
  });
  const context = Object.freeze({
    actor: Object.freeze({ ip: '203.0.113.9', identifiers: Object.freeze({ uid: 7 }) }),
    webhook: Object.freeze({ v1: Object.freeze({ blocked: true }) }),
  });
  const before = JSON.stringify([payload, context]);
  expect(await reporter.incident(payload as never, context).settled).toEqual({
    outcome: 'delivered',
  });
  expect(JSON.stringify([payload, context])).toBe(before);
  expect(rejected).toEqual([]);
  const [element] = JSON.parse(String(receiver.requests[0]?.body));
  expect(element.message.new_compromised_accounts).toEqual(payload.compromised_accounts);
});

test('what is changed after the call is told as it was', async () => {
  const { reporter, receiver } = await opened();
  const payload = { name: 'Block IPs' };
  const context = { actor: { ip: '203.0.113.9', identifiers: { uid: 7 } } };
  const receipt = reporter.playbookTrigger(payload, context);
  payload.name = 'changed';
  context.actor.identifiers.uid = 8;
  await receipt.settled;
  const [element] = JSON.parse(String(receiver.requests[0]?.body));
  expect(element.message).toMatchObject({
    properties: { user_identifiers: [{ uid: 7 }] },
    playbook: { name: 'Block IPs' },
  });
});

test('a polluted prototype has no say in what is told', async () => {
  const { reporter, sink, receiver } = await opened();
  await reporter.attack({ ruleset: 'xss' }, { actor: { ip: '203.0.113.9' } }).settled;
  const polluted = {
    webhook: false,
    message: { evil: true },
    message_type: 'evil',
    ip: '6.6.6.6',
    identifiers: { uid: 'evil' },
    detected_at: 'evil',
    module: 'evil',
    v1: { blocked: true },
    city: 'evil',
    country_code: 'EVL',
    pulse_genre: 'evil',
  };
  Object.assign(Object.prototype, polluted);
  try {
    await reporter.attack({ ruleset: 'xss' }, { actor: { ip: '203.0.113.9' } }).settled;
  } finally {
    for (const key of Object.keys(polluted)) Reflect.deleteProperty(Object.prototype, key);
  }
  const [first, second] = sink.lines.map((line) => JSON.parse(line));
  expect({ ...second, detected_at: '' }).toEqual({ ...first, detected_at: '' });
  const [one, other] = receiver.requests.map(({ body }) => JSON.parse(String(body))[0].message);
  const same = { event_id: '', event_url: '', date_occurred: '', ips: [] };
  expect({ ...other, ...same }).toEqual({ ...one, ...same });
});

test.each([
  ['a getter', () => Object.defineProperty({}, 'message', { enumerable: true, get: throwing })],
  ['no object', () => 7],
  ['a list', () => []],
  ['a message that breaks the contract', () => ({ message: { evil: true } })],
])('%s as the choice of a message is rejected, never thrown', async (_name, make) => {
  const { reporter, rejected } = await opened();
  const receipt = reporter.attack({ ruleset: 'xss' }, { webhook: make() as never });
  expect((await receipt.settled).outcome).toBe('rejected');
  expect(rejected.at(-1)?.channel).toBe('webhook');
});

test('a destination that fails keeps no event from channel B, and the record comes back', async () => {
  const full = createLineSink({ failWith: () => new Error('ENOSPC') });
  const { reporter, receiver, rejected } = await opened({ log: { destination: full } });
  const receipt = reporter.attack({ ruleset: 'xss' });
  expect(receipt.record).toBeUndefined();
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(receiver.requests).toHaveLength(1);
  expect(rejected).toMatchObject([{ channel: 'log', error: { code: 'ERR_WRITE_FAILED' } }]);
});

test('an address that is none keeps an attack from channel A alone', async () => {
  const { reporter, receiver, rejected } = await opened();
  const receipt = reporter.attack({ ruleset: 'xss' }, { actor: { ip: 'nonsense' } });
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(rejected).toMatchObject([
    { channel: 'log', error: { path: ['context', 'actor', 'ip', 'address'] } },
  ]);
  const [element] = JSON.parse(String(receiver.requests[0]?.body));
  expect(element.message.ips).toEqual([]);
});

test('what onRejected throws is nobody else’s trouble', async () => {
  const { reporter } = await opened({
    onRejected: () => {
      throw new Error('of the host');
    },
  });
  expect(() => reporter.attack({ ruleset: 1n } as never)).not.toThrow();
  expect(reporter.stats().rejected).toEqual({ log: 1, webhook: 1 });
});

test('onRejected that reports what is rejected in turn is asked once for each channel', async () => {
  let calls = 0;
  const { reporter } = await opened({
    onRejected: ({ payload }) => {
      calls += 1;
      reporter.customEvent('rejected', { payload });
    },
  });
  reporter.attack({ ruleset: 1n } as never);
  expect(calls).toBe(2);
  expect(reporter.stats()).toMatchObject({ reported: 3, rejected: { log: 3, webhook: 3 } });
});

async function failing(): Promise<never> {
  throw new Error('of the host');
}

test('functions of the host that reject leave no rejection behind', async () => {
  const unhandled: unknown[] = [];
  const listener = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', listener);
  onTestFinished(() => void process.off('unhandledRejection', listener));
  for (const options of [{ onRejected: failing }, { beforeSend: failing }, { context: failing }]) {
    const { reporter } = await opened(options as never);
    expect(() => reporter.attack({ ruleset: '' })).not.toThrow();
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test('ten million characters in the place of an incident are refused, without a hang', async () => {
  const { reporter, rejected } = await opened();
  const text = 'x'.repeat(10_000_000);
  expect((await reporter.incident(text as never).settled).outcome).toBe('rejected');
  expect(rejected.map(({ channel }) => channel)).toEqual(['log', 'webhook']);
});

test('identifiers that are a text are nobody’s', async () => {
  const { reporter, receiver } = await opened();
  const actor = { ip: '203.0.113.9', identifiers: 'bob' };
  await reporter.playbookTrigger({ name: 'Block IPs' }, { actor } as never).settled;
  const [element] = JSON.parse(String(receiver.requests[0]?.body));
  expect(element.message.properties.user_identifiers).toEqual([]);
});

test('a misspelt state of an incident is refused on both channels', async () => {
  const { reporter, rejected } = await opened();
  const incident = {
    incident_id: 'i',
    incident_type: 'xss',
    name: 'n',
    severity: 'major',
  } as const;
  await reporter.incident({ ...incident, event_type: 'created' as never }).settled;
  expect(rejected.map(({ channel, error }) => [channel, error.path])).toEqual([
    ['log', ['payload', 'event_type']],
    ['webhook', ['payload', 'event_type']],
  ]);
});

test('a rejection is told on its channel, without the event', async () => {
  const told: unknown[] = [];
  const listener = (message: unknown): void => void told.push(message);
  subscribe(REJECTED_CHANNEL, listener);
  onTestFinished(() => void unsubscribe(REJECTED_CHANNEL, listener));
  const { reporter } = await opened({ webhook: undefined as never });
  reporter.attack({ ruleset: '' });
  expect(told).toEqual([{ channel: 'log', method: 'attack', code: 'ERR_INVALID_RECORD' }]);
});

describe('strict', () => {
  test('throws what is wrong with an event', async () => {
    const { reporter } = await opened({ strict: true });
    const invalid = expect.objectContaining({ code: 'ERR_INVALID_RECORD' });
    expect(() => reporter.attack({ ruleset: '' })).toThrow(invalid);
    expect(() => reporter.attack(throwing() as never)).toThrow(invalid);
    expect(() =>
      reporter.incident({ incident_id: 'i', incident_type: 'xss', name: 'n', severity: '' }),
    ).toThrow(invalid);
    expect(() => reporter.attack({ ruleset: 'xss' })).not.toThrow();
    const incident = {
      incident_id: 'i',
      incident_type: 'xss',
      name: 'n',
      severity: 'major',
    } as const;
    expect(() => reporter.incident({ ...incident, related_ips: ['nonsense'] })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_MESSAGE' }),
    );
  });
});

test('what our own requests cause is not told', async () => {
  const { reporter, sink, rejected } = await opened();
  const receipt = untraced(() => reporter.attack({ ruleset: 'xss' }));
  expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'own-work' });
  expect([sink.lines, rejected]).toEqual([[], []]);
  expect(reporter.stats()).toMatchObject({ reported: 1, ownWork: 1, written: 0 });
});
