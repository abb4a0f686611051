/** Events that nobody should report: no throw, no hang, no change, and the event comes back. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import type { Receipt } from '../../src/reporter/receipt.ts';
import { REJECTED_CHANNEL, type RejectedEvent } from '../../src/reporter/rejections.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { untraced } from '../../src/runtime/untraced.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { openReceiver, SECRET } from '../helpers/sender.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const INCIDENT = {
  incident_id: 'i',
  incident_type: 'xss',
  name: 'n',
  severity: 'major',
} as const;

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

function fail(): never {
  throw new Error('secret of the host');
}

const throwingProxy = (): object =>
  new Proxy({ ruleset: 'xss' }, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail });

/** Its traps break what is promised of every object, which makes reading it throw. */
const brokenProxy = (): object =>
  new Proxy(Object.freeze({ ruleset: 'xss' }), { ownKeys: () => ['evil'], get: () => 'evil' });

/** Of four thousand million elements, by its own account. */
const longProxy = (): object =>
  new Proxy([], {
    get: (target, key) => (key === 'length' ? 4e9 : (Reflect.get(target, key) ?? 0)),
  });

/** Each look into it shows another one. */
const endlessProxy = (): object =>
  new Proxy(
    {},
    {
      ownKeys: () => ['a'],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
      get: () => endlessProxy(),
    },
  );

/** A hundred objects that are 2 ** 100 when they are written. */
const doubled = (): object => {
  let object: object = { ruleset: 'xss' };
  for (let level = 0; level < 100; level += 1) object = { a: object, b: object };
  return object;
};

const OF_BOTH = [
  ['a throwing getter', throwing],
  ['a cycle', circular],
  ['a BigInt', () => ({ ruleset: 1n })],
  ['a revoked proxy', revoked],
  ['a proxy whose traps throw', throwingProxy],
  ['a proxy whose traps break their promise', brokenProxy],
  ['a proxy that lies about its length', longProxy],
  ['a proxy without an end', endlessProxy],
  ['a few objects that hold each other often', doubled],
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

  test('beside a sound one does not keep that from being reported', async () => {
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
  ['a long text', 'x'.repeat(2_000_000)],
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

describe('two million characters', () => {
  const TEXT = 'x'.repeat(2_000_000);
  const logOnly = { outcome: 'skipped', reason: 'log-only' };
  const tooLarge = { outcome: 'rejected', reason: 'ERR_MESSAGE_TOO_LARGE' };
  const delivered = { outcome: 'delivered' };

  test.each<[string, (reporter: Reporter) => Receipt, object]>([
    ['a ruleset', (to) => to.attack({ ruleset: TEXT }), tooLarge],
    ['the name of a playbook', (to) => to.playbookTrigger({ name: TEXT }), tooLarge],
    ['the id of an incident', (to) => to.incident({ ...INCIDENT, incident_id: TEXT }), tooLarge],
    ['the name of an incident', (to) => to.incident({ ...INCIDENT, name: TEXT }), delivered],
    ['the name of a custom event', (to) => to.customEvent(TEXT, {}), logOnly],
    ['an option of a custom event', (to) => to.customEvent('big', { TEXT }), logOnly],
  ])('as %s are written, and reported where that is possible', async (_name, tell, settlement) => {
    const { reporter, sink, rejected } = await opened();
    expect(await tell(reporter).settled).toEqual(settlement);
    expect(sink.lines).toHaveLength(1);
    expect(sink.lines[0]?.length).toBeGreaterThan(2_000_000);
    expect(rejected.map(({ channel }) => channel)).toEqual(
      settlement === tooLarge ? ['webhook'] : [],
    );
  });

  test.each([
    ['the address of an actor', { actor: { ip: TEXT } }],
    ['an address of digits', { actor: { ip: '1.'.repeat(1_000_000) } }],
    ['an address of colons', { actor: { ip: ':'.repeat(2_000_000) } }],
    [
      'an identifier in base64',
      { actor: { ip: '203.0.113.9', svc_identifier: 'x'.repeat(10_000_000) } },
    ],
    ['a time of digits', { detected_at: `2026-11-21T10:00:00.${'0'.repeat(2_000_000)}` }],
  ])('as %s are refused by channel A, without a hang', async (_name, context) => {
    const { reporter, sink, rejected } = await opened({ webhook: undefined as never });
    expect(await reporter.attack({ ruleset: 'xss' }, context).settled).toMatchObject({
      reason: 'no-webhook',
    });
    expect(sink.lines).toEqual([]);
    expect(rejected).toMatchObject([{ channel: 'log', context }]);
    expect(rejected[0]?.error).toMatchObject({ code: 'ERR_INVALID_RECORD' });
    expect(rejected[0]?.error.message.length).toBeLessThan(1000);
  });

  test('as a module or an identifier of a user are reported', async () => {
    const { reporter, sink, rejected } = await opened();
    const actor = { ip: '203.0.113.9', identifiers: { uid: TEXT } };
    const receipt = reporter.attack({ ruleset: 'xss' }, { module: TEXT, actor });
    expect(await receipt.settled).toEqual(delivered);
    expect(sink.lines[0]?.length).toBeGreaterThan(2_000_000);
    expect(rejected).toEqual([]);
  });
});

describe('what changes while it is looked at', () => {
  test('is read once, and reported as it was then', async () => {
    const { reporter, receiver, sink } = await opened();
    const answers = ['lfi', 1n, 'sql_injection'];
    const lying = new Proxy({ ruleset: 'xss' }, { get: () => answers.shift() });
    expect(await reporter.attack(lying as never).settled).toEqual({ outcome: 'delivered' });
    expect(answers).toHaveLength(2);
    expect(JSON.parse(sink.lines[0] ?? '').payload).toEqual({ ruleset: 'lfi' });
    const [element] = JSON.parse(String(receiver.requests[0]?.body));
    expect(element.message.event_kind).toBe('lfi');
  });

  test('is not changed by being reported', async () => {
    const { reporter, rejected } = await opened();
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
    const payload = guarded({ ...INCIDENT, related_ips: ['203.0.113.9'] });
    expect(await reporter.incident(payload, context).settled).toEqual({ outcome: 'delivered' });
    expect(rejected).toEqual([]);
  });
});

describe('keys that every object has', () => {
  const EVIL = '{"__proto__":{"evil":true},"constructor":{"prototype":{"evil":true}}}';

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'are refused in a payload that has no place for them: %s',
    async (key) => {
      const { reporter, rejected } = await opened();
      const payload: unknown = JSON.parse(`{"ruleset":"xss","${key}":{"ruleset":"lfi"}}`);
      reporter.attack(payload as never);
      expect(rejected[0]).toMatchObject({ channel: 'log', error: { path: ['payload'] } });
      expect(rejected[0]?.payload).toBe(payload);
    },
  );

  test('are reported as they are where any key is', async () => {
    const { reporter, receiver, sink, rejected } = await opened();
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

  test('choose nothing of a message or a context', async () => {
    const { reporter, receiver, rejected } = await opened();
    const context = JSON.parse(
      '{"__proto__":{"module":"evil","webhook":false},"webhook":{"__proto__":{"title":"evil"}}}',
    ) as object;
    await reporter.attack({ ruleset: 'xss' }, context).settled;
    const [element] = JSON.parse(String(receiver.requests[0]?.body));
    expect(element.message.humanized_description).toBe('Cross-site scripting');
    expect(rejected).toEqual([]);
  });
});

test('frozen input is reported, and nothing that is given is changed', async () => {
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

test('what is changed after the call is reported as it was', async () => {
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

test('what a destination that fails gives back is parsed nowhere', async () => {
  const full = createLineSink({ failWith: () => new Error('ENOSPC') });
  const { reporter, rejected } = await opened({ log: { destination: full } });
  const parse = vi.spyOn(JSON, 'parse');
  reporter.attack({ ruleset: 'xss' });
  const parsed = parse.mock.calls.length;
  parse.mockRestore();
  expect(rejected).toMatchObject([{ error: { input: { payload: { ruleset: 'xss' } } } }]);
  expect(parsed).toBe(0);
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

describe('what the host’s own code throws', () => {
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
      'a store of incidents',
      { incidents: { record: fail, retract: fail } },
      ['log ERR_QUEUE_FAILED', 'webhook ERR_QUEUE_FAILED'],
    ],
  ])(
    'is reported by what was asked of it, and not by its text: %s',
    async (_name, options, told) => {
      const { reporter, rejected } = await opened(options);
      const { settled } = reporter.incident(INCIDENT);
      const outcome = told.some((one) => one.startsWith('webhook')) ? 'rejected' : 'delivered';
      expect((await settled).outcome).toBe(outcome);
      expect(rejected.map(({ channel, error }) => `${channel} ${error.code}`)).toEqual(told);
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

test('functions of the host that reject leave no rejection behind', async () => {
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
    const { reporter } = await opened(options as never);
    expect(() => reporter.attack({ ruleset: '' })).not.toThrow();
    expect(() => reporter.userLogin({ success: true })).not.toThrow();
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
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

test('a rejection is reported on its channel, without the event', async () => {
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

test('what our own requests cause is not reported', async () => {
  const { reporter, sink, rejected } = await opened();
  const receipt = untraced(() => reporter.attack({ ruleset: 'xss' }));
  expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'own-work' });
  expect([sink.lines, rejected]).toEqual([[], []]);
  expect(reporter.stats()).toMatchObject({ reported: 1, ownWork: 1, written: 0 });
});
