import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { DELIVERY_OPTIONS, DESTINATION_OPTIONS } from '../../src/delivery/options.ts';
import { readSenderOptions, type SenderSettings } from '../../src/delivery/read-options.ts';
import { DEFAULT_POLICY } from '../../src/delivery/retry-policy.ts';
import type { SecurityEventError } from '../../src/errors.ts';
import { MEMORY_OPTIONS } from '../../src/queue/memory/store.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createSettings } from '../../src/settings/source.ts';
import { createCertificate } from '../../src/testing/index.ts';
import { DEFAULT_USER_AGENT } from '../../src/webhook/request-headers.ts';

const URL_TEXT = 'https://receiver.example/hook/?token=hunter2';
const SECRET = 'correct horse battery staple';
const ONE = { url: URL_TEXT, secret: SECRET };
const APPLICATION = { id: 'shop-1', name: 'Shop', environment: 'test' };
const SETTINGS = { applications: { 'shop-1': { name: 'Shop', environment: 'test', ...ONE } } };

const MAX_MS = 2_147_483_647;
const HOUR_MS = 3_600_000;

const queue = createMemoryQueue();
const durable = {
  ...queue,
  durability: 'server',
  claim() {},
  enqueue() {},
} as unknown as MessageQueue;
const dispatcher = { request: () => {} };
const PEM = '-----BEGIN CERTIFICATE-----';

const read = (options: object): SenderSettings => readSenderOptions({ ...ONE, ...options });

function errorOf(options: unknown): unknown {
  try {
    readSenderOptions(options);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('the options of a sender', () => {
  test.each([
    [{}],
    [{ headers: undefined, schedule: undefined, queue: undefined, leaseMs: undefined }],
  ])('have their defaults with %j', (options) => {
    const { source, ...settings } = read(options);
    expect(source).toBeTypeOf('function');
    expect(settings).toEqual({
      isSettingsFunction: false,
      queue: undefined,
      memory: {},
      role: 'both',
      dialect: 'strict',
      v1Aliases: false,
      lingerMs: 0,
      policy: { ...DEFAULT_POLICY, schedule: { ...DEFAULT_POLICY.schedule, horizonMs: HOUR_MS } },
      slots: { maxActiveRequests: 64, maxWaitingRequests: 1024 },
      lateAfterMs: 50,
      leaseMs: 60_000,
      deadlineMs: 20_000,
      maintenanceIntervalMs: 60_000,
      stalledAfterMs: 60_000,
      flushBeforeExitMs: 0,
      headers: { 'Content-Type': 'application/json', 'User-Agent': DEFAULT_USER_AGENT },
      http: {
        network: 'public',
        dispatcher: undefined,
        deadlines: { headersMs: 15_000, totalMs: 20_000 },
      },
    });
  });

  test.each([
    [undefined, HOUR_MS],
    [queue, HOUR_MS],
    [durable, 72 * HOUR_MS],
  ])('give messages the horizon that the durability of their queue deserves', (own, horizonMs) => {
    expect(read({ queue: own }).policy.schedule.horizonMs).toBe(horizonMs);
    expect(read({ queue: own, schedule: { horizonMs: 5 } }).policy.schedule.horizonMs).toBe(5);
  });

  test.each([
    [{}, 60_000],
    [{ deadlineMs: 20_001 }, 60_003],
    [{ deadlineMs: 20_000 }, 60_000],
    [{ deadlineMs: 100 }, 60_000],
    [{ leaseMs: 20_001 }, 20_001],
    [{ leaseMs: 6, deadlineMs: 5 }, 6],
  ])('hold a claim longer than an attempt takes: %j', (options, leaseMs) => {
    expect(read(options).leaseMs).toBe(leaseMs);
  });

  const numbers = Object.entries(DELIVERY_OPTIONS).filter(
    ([name, row]) => /^\d+$/.test(row.shown) && !/^max(?:Pending|Dead)/.test(name),
  );

  test('have the defaults that are documented', () => {
    const { policy, slots, http, ...rest } = read({});
    const shown = { ...rest, ...policy, ...slots, deadlineMs: http.deadlines?.totalMs };
    expect(numbers.map(([name]) => [name, String(Reflect.get(shown, name))])).toEqual(
      numbers.map(([name, row]) => [name, row.shown]),
    );
  });

  test('have for the queue in memory the bounds that are documented', () => {
    const { maxPendingBytes, maxPendingMessages, maxDeadBytes } = DELIVERY_OPTIONS;
    const bounds = MEMORY_OPTIONS;
    expect(bounds.maxPendingBytes.shown).toBe(maxPendingBytes.shown);
    expect(bounds.maxPendingMessages.shown).toBe(maxPendingMessages.shown);
    expect(bounds.maxDeadBytes.shown).toBe(maxDeadBytes.shown);
  });

  test('do not follow later changes', () => {
    const schedule = { delaysMs: [1] };
    const settings = read({ schedule, headers: { 'x-a': '1' } });
    Object.assign(schedule, { delaysMs: [2] });
    expect(settings.policy.schedule.delaysMs).toEqual([1]);
  });
});

/** Values of an option. */
interface Case {
  readonly taken: readonly unknown[];
  /** What is made of each, if that differs. */
  readonly made?: readonly unknown[];
  readonly refused: readonly unknown[];
  /** What else has to be given. */
  readonly beside?: object;
}

/** The least and the greatest value of each option that is a number. */
const RANGES: Readonly<Record<string, readonly [number, number]>> = Object.fromEntries(
  Object.entries(DELIVERY_OPTIONS).flatMap(([name, { expected }]) => {
    const [, min, max] = /^an integer from (\d+) to (\d+)$/.exec(expected) ?? [];
    return min === undefined ? [] : [[name, [Number(min), Number(max)]] as const];
  }),
);

const SCHEDULE = { ...DEFAULT_POLICY.schedule, horizonMs: HOUR_MS };
const NO_DELAYS = { delaysMs: [], repeatLast: true, horizonMs: 0, maxWaitMs: 0 };
const CONTENT_TYPE = { 'Content-Type': 'application/json' };

const CASES: Readonly<Partial<Record<keyof typeof DELIVERY_OPTIONS, Case>>> = {
  queue: {
    taken: [queue, durable],
    refused: [null, 'memory', {}, { claim() {} }, { enqueue() {} }, () => {}],
  },
  role: {
    taken: ['both', 'enqueue', 'deliver'],
    refused: ['agent', '', null, 1],
    beside: { queue },
  },
  dialect: { taken: ['strict', 'open'], refused: ['loose', null] },
  v1Aliases: { taken: [true, false], refused: [1, 'true', null] },
  schedule: {
    taken: [
      {},
      { delaysMs: undefined, repeatLast: undefined, horizonMs: undefined },
      { delaysMs: [1], repeatLast: true },
      { delaysMs: [0, MAX_MS] },
      NO_DELAYS,
    ],
    made: [
      SCHEDULE,
      SCHEDULE,
      { delaysMs: [1], repeatLast: true, horizonMs: HOUR_MS },
      { delaysMs: [0, MAX_MS], repeatLast: false, horizonMs: HOUR_MS },
      NO_DELAYS,
    ],
    refused: [
      5,
      'often',
      [],
      { delaysMs: [-1] },
      { delaysMs: 5 },
      { retries: 3 },
      { horizonMs: -1 },
      { maxWaitMs: MAX_MS + 1 },
    ],
  },
  network: {
    taken: ['public', 'allow-private', 'delegated'],
    refused: ['private', null, true],
  },
  dispatcher: {
    taken: [dispatcher],
    refused: [{}, { request: 1 }, null, 'proxy'],
    beside: { network: 'delegated' },
  },
  headers: {
    taken: [{ 'x-a': '1' }],
    made: [{ ...CONTENT_TYPE, 'User-Agent': DEFAULT_USER_AGENT, 'x-a': '1' }],
    refused: [new Headers(), new Map(), 'x-a: 1', null, { 'content-length': '1' }, { 'a b': '1' }],
  },
  userAgent: {
    taken: ['shop/1.0'],
    made: [{ ...CONTENT_TYPE, 'User-Agent': 'shop/1.0' }],
    refused: [5, '', 'a\nb', null],
  },
};

/** What was made of each option, by its name. */
const optionsOf = ({ policy, slots, memory, http, ...rest }: SenderSettings) => ({
  ...rest,
  ...policy,
  ...slots,
  ...memory,
  ...http,
  userAgent: rest.headers,
});

describe('each option accepts its values only, and its error names the path and the values', () => {
  test('has a case, or is a number', () => {
    const others = Object.entries(DELIVERY_OPTIONS).filter(
      ([name]) => !Object.hasOwn(RANGES, name),
    );
    expect(others.map(([name]) => name).toSorted()).toEqual(Object.keys(CASES).toSorted());
    expect(RANGES).toMatchObject({ lingerMs: [0, MAX_MS], maxMessages: [1, 1000] });
  });

  test.each(Object.entries(RANGES))('%s from %j', (name, [min, max]) => {
    // A lease has to be longer than an attempt.
    const [least, beside] = name === 'leaseMs' ? [2, { deadlineMs: 1 }] : [min, {}];
    for (const value of [least, max]) {
      expect(optionsOf(read({ ...beside, [name]: value }))).toMatchObject({ [name]: value });
    }
    for (const value of [min - 1, max + 1, min + 0.5]) {
      expect(errorOf({ ...ONE, ...beside, [name]: value })).toMatchObject({
        code: 'ERR_INVALID_OPTION',
        path: [name],
        message: expect.stringContaining(`expected ${name} to be an integer from ${min} to ${max}`),
      });
    }
  });

  test.each(Object.entries(CASES))('%s', (name, { taken, made = taken, refused, beside = {} }) => {
    for (const [index, value] of taken.entries()) {
      const options = optionsOf(read({ ...beside, [name]: value }));
      expect(Reflect.get(options, name)).toEqual(made[index]);
    }
    const rule = DELIVERY_OPTIONS[name as keyof typeof DELIVERY_OPTIONS];
    for (const value of refused) {
      const error = errorOf({ ...ONE, ...beside, [name]: value });
      expect({ value, error }).toMatchObject({
        error: { code: 'ERR_INVALID_OPTION', path: expect.arrayContaining([name]) },
      });
      // What a rule leaves to others is refused in their words.
      if (rule.isUsable(value)) continue;
      expect(String(error)).toContain(`expected ${name} to be ${rule.expected}`);
    }
  });
});

describe('options that exclude each other', () => {
  test.each<[string, object, readonly string[], string]>([
    ['a dispatcher and our own guard', { dispatcher }, ['network'], "needs network: 'delegated'"],
    [
      'a dispatcher and credentials, which it would not use',
      { dispatcher, network: 'delegated', tls: { ca: 'x' } },
      ['tls'],
      'tls is not used with a dispatcher of your own',
    ],
    ['enqueueing into its own memory', { role: 'enqueue' }, ['queue'], "role: 'enqueue' needs"],
    ['delivering what nobody can enqueue', { role: 'deliver' }, ['queue'], "role: 'deliver' needs"],
    [
      'a lease that ends with the attempt',
      { leaseMs: 20_000 },
      ['leaseMs'],
      'expected leaseMs to be more than deadlineMs (20000)',
    ],
    ...['maxPendingBytes', 'maxPendingMessages', 'maxDeadBytes'].map(
      (name): [string, object, readonly string[], string] => [
        `the bound ${name} of the queue in memory, and another queue`,
        { queue, [name]: 1 },
        [name],
        `${name} only applies to the sender's own queue in memory`,
      ],
    ),
  ])('is %s', (_title, options, path, detail) => {
    expect(errorOf({ ...ONE, ...options })).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path,
      message: expect.stringContaining(detail),
    });
  });

  test('is what holds no options, or one that does not exist', () => {
    const refused = { code: 'ERR_INVALID_OPTION' };
    expect(errorOf(undefined)).toMatchObject({ ...refused, path: [] });
    expect(errorOf({ ...ONE, retries: 3 })).toMatchObject({ ...refused, path: ['retries'] });
  });
});

const find = async (options: object, applicationId: string): Promise<unknown> =>
  await createSettings(readSenderOptions(options).source).find(applicationId);

const findNone = (): undefined => undefined;

describe('one destination', () => {
  const FOUND = { name: '', environment: '', ...ONE, format: 2 };

  test('accepts every application if none is named', async () => {
    expect(await find(ONE, 'shop-1')).toEqual(FOUND);
    expect(await find({ ...ONE, format: 1 }, 'another')).toEqual({ ...FOUND, format: 1 });
  });

  test('needs only the id of its application in format 2', async () => {
    const options = { ...ONE, application: { id: 'shop-1' } };
    expect(await find(options, 'shop-1')).toMatchObject({ name: '', environment: '' });
    expect(await find(options, 'shop-2')).toBeUndefined();
  });

  test('takes the named application, and no other', async () => {
    const options = { ...ONE, application: APPLICATION, tls: { ca: PEM } };
    expect(await find(options, 'shop-1')).toEqual({
      ...FOUND,
      name: 'Shop',
      environment: 'test',
      tls: { ca: PEM },
    });
    expect(await find(options, 'shop-2')).toBeUndefined();
    expect(await find(options, '__proto__')).toBeUndefined();
  });

  test('does not follow later changes of what was given', async () => {
    const application = { ...APPLICATION };
    const { source } = readSenderOptions({ ...ONE, application });
    application.id = 'shop-2';
    application.name = 'Other';
    expect(await createSettings(source).find('shop-1')).toMatchObject({ name: 'Shop' });
  });

  test.each<[object, string, readonly string[]]>([
    [{ secret: SECRET }, 'ERR_INVALID_URL', ['url']],
    [{ ...ONE, url: 'http://127.0.0.1:1/hunter2' }, 'ERR_ADDRESS_REFUSED', ['network']],
    [{ ...ONE, url: 'https://user:hunter2@receiver.example' }, 'ERR_INVALID_URL', ['url']],
    [{ url: URL_TEXT }, 'ERR_INVALID_SECRET', ['secret']],
    [{ ...ONE, secret: () => SECRET }, 'ERR_INVALID_SECRET', ['secret']],
    [{ ...ONE, format: 3 }, 'ERR_INVALID_OPTION', ['format']],
    [{ ...ONE, application: 'shop-1' }, 'ERR_INVALID_OPTION', ['application']],
    [{ ...ONE, application: {} }, 'ERR_INVALID_OPTION', ['application', 'id']],
    [
      { ...ONE, application: { ...APPLICATION, id: '' } },
      'ERR_INVALID_OPTION',
      ['application', 'id'],
    ],
    [
      { ...ONE, format: 1, application: { id: 'shop-1', name: 'Shop' } },
      'ERR_INVALID_OPTION',
      ['application', 'environment'],
    ],
    [{ ...ONE, tls: { cert: PEM } }, 'ERR_INVALID_OPTION', ['tls', 'key']],
  ])('%# is refused with %s at %j, and the error shows nothing of it', (options, code, path) => {
    const error = errorOf(options);
    expect(error).toMatchObject({ code, path });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/hunter2|horse|BEGIN/);
  });

  test.each([0, -1, 0.0001, 1e7, Number.NaN, Number.POSITIVE_INFINITY, '5', null])(
    'is refused with a rate limit of %j',
    (rate) => {
      for (const name of ['maxRequestsPerSecond', 'maxMessagesPerSecond']) {
        const refused = { code: 'ERR_INVALID_OPTION', path: [name] };
        expect(errorOf({ ...ONE, [name]: rate })).toMatchObject(refused);
      }
    },
  );

  test('has the key of its certificate', async () => {
    const [ours, other] = [createCertificate(), createCertificate()];
    expect(errorOf({ ...ONE, tls: { cert: ours.cert, key: other.key } })).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['tls', 'key'],
      message: expect.stringContaining('tls.key: expected the private key of cert, found another'),
    });
    expect(await find({ ...ONE, tls: ours }, 'shop-1')).toMatchObject({ tls: ours });
  });

  test('of format 1 is refused for its names beside other faults of its application', () => {
    const application = { id: '', name: 'Shop' };
    const { issues } = errorOf({ ...ONE, format: 1, application }) as SecurityEventError;
    expect(issues.map((issue) => issue.path.join('.'))).toEqual([
      'application.id',
      'application.environment',
    ]);
  });

  test('is refused with all faults of its application and its certificates', () => {
    const application = { id: 'shop-1', name: 7, environment: 7, more: 1 };
    const options = { ...ONE, application, tls: { ca: 'ca.pem' }, maxRequestsPerSecond: 0 };
    const { issues, path } = errorOf(options) as SecurityEventError;
    expect(path).toEqual(['application', 'name']);
    expect(issues.map((issue) => issue.path.join('.'))).toEqual([
      'application.name',
      'application.environment',
      'application',
      'tls.ca',
      'maxRequestsPerSecond',
    ]);
  });
});

describe('settings', () => {
  test('are used as they are given', () => {
    expect(readSenderOptions({ settings: SETTINGS }).source).toBe(SETTINGS);
    expect(readSenderOptions({ settings: findNone }).source).toBe(findNone);
  });

  const own = Object.keys(DESTINATION_OPTIONS).filter((name) => name !== 'settings');

  test.each(own)('leave no place for %s', (name) => {
    const rates = { maxRequestsPerSecond: 1, maxMessagesPerSecond: 1 };
    const given = { ...ONE, application: APPLICATION, format: 1, tls: {}, ...rates };
    const value = Reflect.get(given, name);
    expect(errorOf({ settings: SETTINGS, [name]: value })).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: [name],
      message: expect.stringContaining(`${name} belongs in settings when settings are given`),
    });
    expect(errorOf({ settings: SETTINGS, [name]: undefined })).toBeUndefined();
  });
});
