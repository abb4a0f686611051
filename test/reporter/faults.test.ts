/** Hostile and broken events: reporting neither throws nor changes them, and `onRejected` gets them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import type { Receipt } from '../../src/reporter/receipt.ts';
import { REJECTED_CHANNEL } from '../../src/reporter/rejections.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { untraced } from '../../src/runtime/untraced.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { INCIDENT, openReporter, openSendingReporter } from './open-reporter.ts';

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

function fail(): never {
  throw new Error('secret of the host');
}

const throwingProxy = (): object =>
  new Proxy({ ruleset: 'xss' }, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail });

/** test/contract/json-value.test.ts has all values that are not JSON. */
const HOSTILE_VALUES = [
  ['a throwing getter', throwing],
  ['a cycle', circular],
  ['a revoked proxy', revoked],
  ['a proxy whose traps throw', throwingProxy],
  ['a class instance', () => new Error('of the host')],
  ['10,000 levels of nesting', deep],
] as const;

describe.each(HOSTILE_VALUES)('%s', (_name, make) => {
  test('as a payload is rejected on both channels', async () => {
    const { reporter, receiver, sink, rejected } = await openSendingReporter();
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
    expect(await reporter.stats()).toMatchObject({ reported: 1, rejected: { log: 1, webhook: 1 } });
    expect(await reporter.attack({ ruleset: 'xss' }).settled).toEqual({ outcome: 'delivered' });
  });

  test('settles as skipped without a webhook, like every rejected record', async () => {
    const { reporter, rejected } = openReporter();
    const receipt = reporter.attack(make() as never);
    expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'no-webhook' });
    expect(rejected).toMatchObject([{ channel: 'log', error: { code: 'ERR_INVALID_RECORD' } }]);
    expect((await reporter.stats()).skipped).toEqual({ 'no-webhook': 1 });
  });

  test('as a context is passed to onRejected unchanged', async () => {
    const { reporter, rejected } = await openSendingReporter();
    const context = { http: make() };
    const receipt = reporter.attack({ ruleset: 'xss' }, context as never);
    expect(await receipt.settled).toMatchObject({ outcome: 'rejected' });
    expect(rejected.map((event) => event.context)).toEqual([context, context]);
    expect(rejected[0]?.context).toBe(context);
  });
});

test.each([
  ['a number', 7],
  ['undefined', undefined],
  ['an object with an empty ruleset', { ruleset: '' }],
  ['an object with unknown keys', { ruleset: 'xss', further: 1 }],
])('a payload that is %s is rejected with its path', async (_name, payload) => {
  const { reporter, sink, rejected } = await openSendingReporter();
  await reporter.attack(payload as never).settled;
  const [first] = rejected;
  expect(first).toMatchObject({ channel: 'log', payload });
  expect(first?.error.code).toBe('ERR_INVALID_RECORD');
  expect(first?.error.path[0]).toBe('payload');
  expect(sink.lines).toEqual([]);
});

test.each([[{}], [{ ip: 7 }], [{ ip: null }]])(
  'an actor %j is rejected, and the error says which addresses are accepted',
  async (actor) => {
    const { reporter, rejected } = openReporter();
    reporter.attack({ ruleset: 'xss' }, { actor: actor as never });
    expect(rejected[0]?.error.path).toEqual(['context', 'actor', 'ip']);
    expect(rejected[0]?.error.message).toContain(
      'expected an object with address, geo and metadata (a reporter also accepts an address as text), found ',
    );
  },
);

test.each([[7], [null], ['text'], [[]]])(
  'attack does not throw when its context is %j',
  async (context) => {
    const { reporter } = await openSendingReporter();
    expect(() => reporter.attack({ ruleset: 'xss' }, context as never)).not.toThrow();
  },
);

describe('two million characters', () => {
  const TEXT = 'x'.repeat(2_000_000);
  const logOnly = { outcome: 'skipped', reason: 'log-only' };
  const tooLarge = { outcome: 'rejected', reason: 'ERR_MESSAGE_TOO_LARGE' };
  const delivered = { outcome: 'delivered' };

  test.each<[string, (reporter: Reporter) => Receipt, object]>([
    ['a ruleset', (to) => to.attack({ ruleset: TEXT }), tooLarge],
    ['the id of an incident', (to) => to.incident({ ...INCIDENT, incident_id: TEXT }), tooLarge],
    ['the name of an incident', (to) => to.incident({ ...INCIDENT, name: TEXT }), delivered],
    ['the name of a custom event', (to) => to.customEvent(TEXT, {}), logOnly],
  ])(
    'as %s are written, and sent unless the message is too large',
    async (_name, report, settlement) => {
      const { reporter, sink, rejected } = await openSendingReporter();
      expect(await report(reporter).settled).toEqual(settlement);
      expect(sink.lines).toHaveLength(1);
      expect(sink.lines[0]?.length).toBeGreaterThan(2_000_000);
      expect(rejected.map(({ channel }) => channel)).toEqual(
        settlement === tooLarge ? ['webhook'] : [],
      );
    },
  );

  test.each([
    ['the address of an actor', { actor: { ip: TEXT } }],
    ['an address of digits', { actor: { ip: '1.'.repeat(1_000_000) } }],
    ['an address of colons', { actor: { ip: ':'.repeat(2_000_000) } }],
    [
      'an identifier in base64',
      { actor: { ip: '203.0.113.9', svc_identifier: 'x'.repeat(10_000_000) } },
    ],
    ['a time of digits', { detected_at: `2026-11-21T10:00:00.${'0'.repeat(2_000_000)}` }],
  ])('as %s are rejected on channel A', async (_name, context) => {
    const { reporter, sink, rejected } = openReporter();
    expect(await reporter.attack({ ruleset: 'xss' }, context).settled).toMatchObject({
      reason: 'no-webhook',
    });
    expect(sink.lines).toEqual([]);
    expect(rejected).toMatchObject([{ channel: 'log', context }]);
    expect(rejected[0]?.error).toMatchObject({ code: 'ERR_INVALID_RECORD' });
    expect(rejected[0]?.error.message.length).toBeLessThan(1000);
  });

  test('as a module or an identifier of a user are reported', async () => {
    const { reporter, sink, rejected } = await openSendingReporter();
    const actor = { ip: '203.0.113.9', identifiers: { uid: TEXT } };
    const receipt = reporter.attack({ ruleset: 'xss' }, { module: TEXT, actor });
    expect(await receipt.settled).toEqual(delivered);
    expect(sink.lines[0]?.length).toBeGreaterThan(2_000_000);
    expect(rejected).toEqual([]);
  });
});

describe('an event that changes while it is read', () => {
  test('is read once, and reported with the values that were read', async () => {
    const { reporter, messages, sink } = await openSendingReporter();
    const answers = ['lfi', 1n, 'sql_injection'];
    const lying = new Proxy({ ruleset: 'xss' }, { get: () => answers.shift() });
    expect(await reporter.attack(lying as never).settled).toEqual({ outcome: 'delivered' });
    expect(answers).toHaveLength(2);
    expect(JSON.parse(sink.lines[0] ?? '').payload).toEqual({ ruleset: 'lfi' });
    expect(messages()[0]?.message['event_kind']).toBe('lfi');
  });

  test('is not changed by reporting it', async () => {
    const { reporter, rejected } = await openSendingReporter();
    const forbidden = {
      set: fail,
      defineProperty: fail,
      deleteProperty: fail,
      setPrototypeOf: fail,
    };
    const guarded = <T extends object>(target: T): T =>
      new Proxy(target, {
        ...forbidden,
        preventExtensions: fail,
        get: (from, key) => {
          const value: unknown = Reflect.get(from, key);
          return typeof value === 'object' && value !== null ? guarded(value) : value;
        },
      });
    const context = guarded({
      actor: { ip: '203.0.113.9', identifiers: { uid: 7 } },
      webhook: { v1: { blocked: true } },
    });
    const account = { svc_id: 'a', user_identifiers: { uid: 7 }, ip_address: '' };
    const payload = guarded({
      ...INCIDENT,
      incident_type: 'failed_auth_peak' as const,
      related_ips: ['203.0.113.9'],
      compromised_accounts: [account],
    });
    expect(await reporter.incident(payload, context).settled).toEqual({ outcome: 'delivered' });
    expect(rejected).toEqual([]);
  });
});

describe('keys of Object.prototype', () => {
  const EVIL = '{"__proto__":{"evil":true},"constructor":{"prototype":{"evil":true}}}';

  test.each(['__proto__', 'toString'])('are rejected in a payload: %s', async (key) => {
    const { reporter, rejected } = await openSendingReporter();
    const payload: unknown = JSON.parse(`{"ruleset":"xss","${key}":{"ruleset":"lfi"}}`);
    reporter.attack(payload as never);
    expect(rejected[0]).toMatchObject({ channel: 'log', error: { path: ['payload'] } });
    expect(rejected[0]?.payload).toBe(payload);
  });

  test('are reported unchanged in free-form fields', async () => {
    const { reporter, receiver, sink, rejected } = await openSendingReporter();
    const identifiers: unknown = JSON.parse('{"__proto__":"a","constructor":"b"}');
    const actor = { ip: '203.0.113.9', identifiers } as never;
    reporter.customEvent('evil', JSON.parse(EVIL) as never, { actor });
    await reporter.playbookTrigger({ name: 'n' }, { actor }).settled;
    const line = sink.lines[0] ?? '';
    expect(line).toContain(`"options":${EVIL}`);
    expect(line).toContain('"identifiers":{"__proto__":"a","constructor":"b"}');
    expect(String(receiver.requests[0]?.body)).toContain(
      '"user_identifiers":[{"__proto__":"a","constructor":"b"}]',
    );
    expect(rejected).toEqual([]);
    expect('evil' in {}).toBe(false);
  });

  test('do not act as options of a message or context', async () => {
    const { reporter, messages, rejected } = await openSendingReporter();
    const context = JSON.parse(
      '{"__proto__":{"module":"evil","webhook":false},"webhook":{"__proto__":{"title":"evil"}}}',
    ) as object;
    await reporter.attack({ ruleset: 'xss' }, context).settled;
    expect(messages()[0]?.message['humanized_description']).toBe('Cross-site scripting');
    expect(rejected).toEqual([]);
  });
});

test('a change after the call does not change the report', async () => {
  const { reporter, messages } = await openSendingReporter();
  const payload = { name: 'Block IPs' };
  const context = { actor: { ip: '203.0.113.9', identifiers: { uid: 7 } } };
  const receipt = reporter.playbookTrigger(payload, context);
  payload.name = 'changed';
  context.actor.identifiers.uid = 8;
  await receipt.settled;
  expect(messages()[0]?.message).toMatchObject({
    properties: { user_identifiers: [{ uid: 7 }] },
    playbook: { name: 'Block IPs' },
  });
});

const ADDRESS = 'context.actor.ip.address';

const factsOf = (address: unknown): object => ({ ip: { address, geo: {}, metadata: {} } });

test.each([
  ['null', null, 'context.actor: expected an object, found null'],
  ['a text', 'jane', 'context.actor: expected an object, found a string'],
  ['a text as address', factsOf('here'), `${ADDRESS}: expected an IP address, found a string`],
  ['a number as address', factsOf(7), `${ADDRESS}: expected an IP address, found a number`],
  ['no address', { ip: 'nonsense' }, `${ADDRESS}: expected an IP address, found a string`],
])('an unusable actor (%s) rejects the record; the message has none', async (_, actor, issue) => {
  const { reporter, sink, rejected, messages } = await openSendingReporter();
  const receipt = reporter.attack({ ruleset: 'xss' }, { actor } as never);
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(rejected).toMatchObject([{ channel: 'log', error: { code: 'ERR_INVALID_RECORD' } }]);
  expect(rejected[0]?.error.message).toContain(issue);
  expect(sink.lines).toEqual([]);
  expect(messages()).toMatchObject([{ message: { event_kind: 'xss', ips: [] } }]);
});

test('an invalid Date rejects record and message, with an error that names it', async () => {
  const { reporter, rejected, rejections } = await openSendingReporter();
  reporter.attack({ ruleset: 'xss' }, { detected_at: new Date(Number.NaN) });
  expect(rejections()).toEqual(['log ERR_INVALID_RECORD', 'webhook ERR_INVALID_RECORD']);
  expect(rejected[0]?.error).toMatchObject({ path: ['detected_at'] });
  expect(rejected[0]?.error.message).toContain('expected a valid Date, found an invalid one');
});

const getter = Object.defineProperty({}, 'message', { enumerable: true, get: throwing });

test.each<[string, unknown, readonly PropertyKey[]]>([
  ['a getter', getter, []],
  ['null', null, ['webhook']],
  ['an array', [], ['webhook']],
  ['a function within', { a: { b: () => 1 } }, ['webhook', 'a', 'b']],
  ['a message that breaks the contract', { message: { evil: true } }, [0, 'message']],
])(
  'unusable overrides (%s) reject the message; the record is written',
  async (_, webhook, path) => {
    const { reporter, sink, rejected } = await openSendingReporter();
    const receipt = reporter.attack({ ruleset: 'xss' }, { webhook } as never);
    expect((await receipt.settled).outcome).toBe('rejected');
    expect(rejected).toMatchObject([
      { channel: 'webhook', error: { code: 'ERR_INVALID_MESSAGE' } },
    ]);
    expect(rejected[0]?.error.path.slice(0, path.length)).toEqual(path);
    expect(sink.lines).toHaveLength(1);
  },
);

test('a message is delivered when the log fails, and the record is rejected without parsing it again', async () => {
  const full = createLineSink({ failWith: () => new Error('ENOSPC') });
  const { reporter, messages, rejected } = await openSendingReporter({
    log: { destination: full },
  });
  const parse = vi.spyOn(JSON, 'parse');
  const receipt = reporter.attack({ ruleset: 'xss' });
  const parsed = parse.mock.calls.length;
  parse.mockRestore();
  expect(parsed).toBe(0);
  expect(receipt.record).toBeUndefined();
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(messages()).toHaveLength(1);
  const error = { code: 'ERR_WRITE_FAILED', input: { payload: { ruleset: 'xss' } } };
  expect(rejected).toMatchObject([{ channel: 'log', error }]);
});

test('a record that does not fit into the buffer of the log is rejected', async () => {
  const destination = { write: () => {} };
  const log = { destination, sync: false, maxBufferBytes: 1 };
  const { reporter, rejected } = openReporter({ log });
  for (const receipt of [reporter.attack({ ruleset: 'xss' }), reporter.incident(INCIDENT)])
    expect(receipt.record).toBeUndefined();
  expect(rejected).toMatchObject([
    { channel: 'log', method: 'attack', error: { code: 'ERR_WRITE_FAILED' } },
    { channel: 'log', method: 'incident', error: { code: 'ERR_WRITE_FAILED' } },
  ]);
  expect(await reporter.stats()).toMatchObject({ written: 0, rejected: { log: 2 } });
});

test('a record that is lost after its call is counted as rejected, not as written', async () => {
  const log = { destination: { write: failing }, sync: false };
  const { reporter, rejected } = openReporter({ log });
  reporter.attack({ ruleset: 'a_new_word' });
  expect(await reporter.stats()).toMatchObject({ written: 1, outsideStrict: 1 });
  await reporter.flush();
  expect(rejected).toMatchObject([{ channel: 'log', error: { code: 'ERR_WRITE_FAILED' } }]);
  expect(await reporter.stats()).toMatchObject({ written: 0, outsideStrict: 0 });
});

test('an incident is rejected once on each channel when the store cannot retract it', async () => {
  const full = createLineSink({ failWith: () => new Error('ENOSPC') });
  const memory = createMemoryIncidents();
  const { reporter, rejections } = await openSendingReporter({
    log: { destination: full },
    webhook: { send: failing, flush: async () => {}, close: async () => {} } as never,
    incidents: { record: (report) => memory.record(report), retract: failing },
  });
  const { settled } = reporter.incident(INCIDENT);
  expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_QUEUE_FAILED' });
  await reporter.flush();
  expect(rejections()).toEqual(['log ERR_WRITE_FAILED', 'webhook ERR_QUEUE_FAILED']);
});

test('a value that is not JSON is rejected with its path', async () => {
  const { reporter, rejected } = await openSendingReporter();
  reporter.attack({ ruleset: 1n } as never, { actor: { ip: '203.0.113.9' } });
  for (const { error } of rejected) {
    expect(error.issues).toEqual([
      { path: ['payload', 'ruleset'], message: 'expected a JSON value, found a BigInt' },
    ]);
  }
  expect(rejected).toHaveLength(2);
});

test.each([
  ['incident', (to: Reporter) => to.incident(['xss'] as never)],
  ['playbookTrigger', (to: Reporter) => to.playbookTrigger(['xss'] as never)],
  ['attack', (to: Reporter) => to.attack(['xss'] as never)],
])('%s rejects an array as a payload', async (_name, report) => {
  const { reporter, rejected } = openReporter();
  report(reporter);
  expect(rejected.map(({ error }) => error.message)).toEqual([
    expect.stringContaining('payload: expected an object, found an array'),
  ]);
});

test('an error of onRejected affects nothing else', async () => {
  const { reporter } = await openSendingReporter({
    onRejected: () => {
      throw new Error('of the host');
    },
  });
  expect(() => reporter.attack({ ruleset: 1n } as never)).not.toThrow();
  expect((await reporter.stats()).rejected).toEqual({ log: 1, webhook: 1 });
});

test('onRejected is called once for each channel when it reports events that are rejected too', async () => {
  let calls = 0;
  const { reporter } = await openSendingReporter({
    onRejected: ({ payload }) => {
      calls += 1;
      reporter.customEvent('rejected', { payload });
    },
  });
  reporter.attack({ ruleset: 1n } as never);
  expect(calls).toBe(2);
  expect(await reporter.stats()).toMatchObject({ reported: 3, rejected: { log: 3, webhook: 3 } });
});

describe('an error of the host’s code', () => {
  const idle = { flush: async () => {}, close: async () => {} };
  const OTHER_COPY = { name: 'SecurityEventError', code: 'ERR_UNKNOWN_APPLICATION', path: [0] };
  const foreign = Object.assign(new Error('secret of the host'), OTHER_COPY);

  test.each<[string, Partial<ReporterOptions>, readonly string[]]>([
    ['a writer', { log: { ...idle, write: fail } }, ['log ERR_WRITE_FAILED']],
    [
      'a sender',
      {
        webhook: { ...idle, send: () => Promise.reject(new Error('secret of the host')) } as never,
      },
      ['webhook ERR_QUEUE_FAILED'],
    ],
    [
      'a sender of another copy of this library',
      { webhook: { ...idle, send: () => Promise.reject(foreign) } as never },
      ['webhook ERR_UNKNOWN_APPLICATION'],
    ],
    [
      'a sender that resolves to nothing',
      { webhook: { ...idle, send: async () => undefined } as never },
      ['webhook ERR_QUEUE_FAILED'],
    ],
    [
      'beforeSend',
      { beforeSend: fail },
      ['log ERR_BEFORE_SEND_FAILED', 'webhook ERR_BEFORE_SEND_FAILED'],
    ],
    [
      'an incident store',
      { incidents: { record: fail, retract: fail } },
      ['log ERR_QUEUE_FAILED', 'webhook ERR_QUEUE_FAILED'],
    ],
  ])(
    'is wrapped in an error of the operation, without its text: %s',
    async (_name, options, expected) => {
      const { reporter, rejected, rejections } = await openSendingReporter(options);
      const { settled } = reporter.incident(INCIDENT);
      const outcome = expected.some((one) => one.startsWith('webhook')) ? 'rejected' : 'delivered';
      expect((await settled).outcome).toBe(outcome);
      expect(rejections()).toEqual(expected);
      for (const { error } of rejected) {
        expect(error).toBeInstanceOf(SecurityEventError);
        expect(error.cause).toBeInstanceOf(Error);
        expect(error.message).not.toContain('secret of the host');
      }
    },
  );
});

async function failing(): Promise<never> {
  throw new Error('of the host');
}

test('host functions that reject cause no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const listener = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', listener);
  onTestFinished(() => void process.off('unhandledRejection', listener));
  const log = { write: failing, flush: failing, close: failing };
  for (const options of [
    { onRejected: failing },
    { beforeSend: failing },
    { context: failing },
    { log },
  ]) {
    const { reporter } = await openSendingReporter(options as never);
    expect(() => reporter.attack({ ruleset: '' })).not.toThrow();
    expect(() => reporter.userLogin({ success: true })).not.toThrow();
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test('a message has no user when the identifiers are a text', async () => {
  const { reporter, messages } = await openSendingReporter();
  const actor = { ip: '203.0.113.9', identifiers: 'bob' };
  await reporter.playbookTrigger({ name: 'Block IPs' }, { actor } as never).settled;
  expect(messages()).toMatchObject([{ message: { properties: { user_identifiers: [] } } }]);
});

test('a misspelt event_type of an incident is rejected on both channels', async () => {
  const { reporter, rejected } = await openSendingReporter();
  await reporter.incident({ ...INCIDENT, event_type: 'created' as never }).settled;
  expect(rejected.map(({ channel, error }) => [channel, error.path])).toEqual([
    ['log', ['payload', 'event_type']],
    ['webhook', ['payload', 'event_type']],
  ]);
});

test('a rejection is published on the diagnostics channel, without the event', async () => {
  const published: unknown[] = [];
  const listener = (message: unknown): void => void published.push(message);
  expect(REJECTED_CHANNEL).toBe('security-event-delivery:rejected');
  subscribe(REJECTED_CHANNEL, listener);
  onTestFinished(() => void unsubscribe(REJECTED_CHANNEL, listener));
  const { reporter } = openReporter();
  reporter.attack({ ruleset: '' });
  expect(published).toEqual([{ channel: 'log', method: 'attack', code: 'ERR_INVALID_RECORD' }]);
});

describe('strict', () => {
  test('throws the error of an event', async () => {
    const { reporter } = await openSendingReporter({ strict: true });
    const invalid = expect.objectContaining({ code: 'ERR_INVALID_RECORD' });
    expect(() => reporter.attack({ ruleset: '' })).toThrow(invalid);
    expect(() => reporter.attack(throwing() as never)).toThrow(invalid);
    expect(() => reporter.incident({ ...INCIDENT, severity: '' })).toThrow(invalid);
    expect(() => reporter.attack({ ruleset: 'xss' })).not.toThrow();
    expect(() => reporter.incident({ ...INCIDENT, related_ips: ['nonsense'] })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_MESSAGE' }),
    );
  });
});

test.each([
  ['text', ['context']],
  [null, ['context']],
  [{ actr: { ip: '203.0.113.9' } }, ['context', 'actr']],
  [{ detectedAt: new Date() }, ['context', 'detectedAt']],
  [{ webhook: { titel: 'XSS' } }, ['context', 'webhook', 'titel']],
])('strict rejects an unusable context or an unknown key of it: %j', (context, path) => {
  const { reporter, sink, rejections } = openReporter({ strict: true });
  expect(() => reporter.attack({ ruleset: 'xss' }, context as never)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }),
  );
  expect([sink.lines, rejections()]).toEqual([[], ['log ERR_INVALID_OPTION']]);
});

test('an event caused by our own requests is not reported', async () => {
  const { reporter, sink, rejected } = await openSendingReporter();
  const receipt = untraced(() => reporter.attack({ ruleset: 'xss' }));
  expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'own-work' });
  expect([sink.lines, rejected]).toEqual([[], []]);
  expect(await reporter.stats()).toMatchObject({ reported: 1, ownWork: 1, written: 0 });
});
