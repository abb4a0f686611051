/** Hostile and broken events: reporting neither throws nor changes them, and `onRejected` gets them. */
import { describe, expect, test } from 'vitest';
import type { Reporter } from '../../src/reporter/reporter.ts';
import { untraced } from '../../src/runtime/untraced.ts';
import { INCIDENT, openReporter, openSendingReporter } from './open-reporter.ts';

function fail(): never {
  throw new Error('secret of the host');
}

const throwing = (): object =>
  Object.defineProperty({}, 'ruleset', { enumerable: true, get: fail });

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

  test('as a context is passed to onRejected unchanged', async () => {
    const { reporter, rejected } = openReporter();
    const context = { http: make() };
    const receipt = reporter.attack({ ruleset: 'xss' }, context as never);
    expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'no-webhook' });
    expect(rejected).toMatchObject([{ channel: 'log', error: { code: 'ERR_INVALID_RECORD' } }]);
    expect(rejected[0]?.context).toBe(context);
    expect((await reporter.stats()).skipped).toEqual({ 'no-webhook': 1 });
  });
});

test.each<[string, unknown, PropertyKey[]]>([
  ['a number', 7, ['payload']],
  ['undefined', undefined, ['payload']],
  ['an array', ['xss'], ['payload']],
  ['an object with an empty ruleset', { ruleset: '' }, ['payload', 'ruleset']],
  ['an object with unknown keys', { ruleset: 'xss', further: 1 }, ['payload']],
])('a payload that is %s is rejected with its path', async (_name, payload, path) => {
  const { reporter, sink, rejected } = await openSendingReporter();
  await reporter.attack(payload as never).settled;
  expect(rejected[0]).toMatchObject({
    channel: 'log',
    payload,
    error: { code: 'ERR_INVALID_RECORD', path },
  });
  expect(sink.lines).toEqual([]);
});

test.each([[7], [null], ['text'], [[]]])('attack ignores a context that is %j', (context) => {
  const { reporter, records } = openReporter();
  reporter.attack({ ruleset: 'xss' }, context as never);
  expect(records()).toHaveLength(1);
});

const guarded = <T extends object>(target: T): T =>
  new Proxy(target, {
    set: fail,
    defineProperty: fail,
    deleteProperty: fail,
    setPrototypeOf: fail,
    preventExtensions: fail,
    get: (from, key) => {
      const value: unknown = Reflect.get(from, key);
      return typeof value === 'object' && value !== null ? guarded(value) : value;
    },
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
  ['a number as address', factsOf(7), `${ADDRESS}: expected an IP address, found a number`],
  ['no address', { ip: 'nonsense' }, `${ADDRESS}: expected an IP address, found a string`],
  ['no address at all', {}, 'context.actor.ip: expected an object with address'],
  ['a number for its facts', { ip: 7 }, 'context.actor.ip: expected an object with address'],
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

const getter = Object.defineProperty({}, 'message', { enumerable: true, get: fail });

test.each<[string, unknown, readonly PropertyKey[]]>([
  ['a getter', getter, []],
  ['null', null, ['webhook']],
  ['an array', [], ['webhook']],
  ['a function within', { a: { b: () => 1 } }, ['webhook', 'a', 'b']],
  ['a message that breaks the contract', { message: { evil: true } }, ['webhook', 'message']],
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

test.each([
  ['incident', (to: Reporter) => to.incident(['xss'] as never)],
  ['playbookTrigger', (to: Reporter) => to.playbookTrigger(['xss'] as never)],
])('%s rejects an array as a payload', async (_name, report) => {
  const { reporter, rejected } = openReporter();
  report(reporter);
  expect(rejected.map(({ error }) => error.message)).toEqual([
    expect.stringContaining('payload: expected an object, found an array'),
  ]);
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

test('an event caused by our own requests is not reported', async () => {
  const { reporter, sink, rejected } = await openSendingReporter();
  const receipt = untraced(() => reporter.attack({ ruleset: 'xss' }));
  expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'own-work' });
  expect([sink.lines, rejected]).toEqual([[], []]);
  expect(await reporter.stats()).toMatchObject({ reported: 1, ownWork: 1, written: 0 });
});
