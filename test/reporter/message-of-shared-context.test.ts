/** Messages of events that share a context, compared with those of events that do not: what the queue gets. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestScope, runInScope } from '../../src/capture/request-scope.ts';
import type { LogActor, LogHttp } from '../../src/contract/index.ts';
import { type FollowingSender, SEND_EACH, type WebhookSender } from '../../src/delivery/sender.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { QueueEntry } from '../../src/queue/queue.ts';
import { makeReporter } from '../../src/reporter/create-reporter.ts';
import type { RejectedEvent } from '../../src/reporter/rejections.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { RECORDS } from '../contract/samples.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { openSender, SECRET } from '../helpers/sender.ts';

const AT = Date.parse('2026-08-01T12:00:00.000Z');
const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const URL_OF = 'https://receiver.example/hook';
const ONE = { url: URL_OF, secret: SECRET };
/** With it no context is shared, and no record is changed. */
const UNSHARED: Partial<ReporterOptions> = { beforeSend: () => {} };

type Report = (reporter: Reporter) => unknown;

interface Scene {
  readonly reports: readonly Report[];
  readonly context?: { readonly actor?: unknown; readonly http?: unknown };
  readonly options?: Partial<ReporterOptions>;
  readonly sender?: object;
  readonly now?: number;
  readonly idOf?: (count: number) => string;
}

const uuidOf = (count: number) => `01900000-0000-7000-8000-${String(count).padStart(12, '0')}`;

/** What came out at the far end of channel B. */
async function play({ reports, context, options, sender = ONE, now = AT, idOf = uuidOf }: Scene) {
  const entries: QueueEntry[] = [];
  const queue = wrapQueue(createMemoryQueue(), {
    enqueue: (given) => {
      entries.push(...given);
      return Promise.resolve({ sequences: given.map((_, index) => index + 1), closed: [] });
    },
  });
  const webhook = openSender({ dialect: 'open', role: 'enqueue', queue, ...sender } as never);
  const rejected: RejectedEvent[] = [];
  let ids = 0;
  const newId = () => {
    ids += 1;
    return idOf(ids);
  };
  const reporter = makeReporter(
    {
      service: SERVICE,
      log: { destination: { write: () => true } },
      platform: false,
      webhook,
      onRejected: (event) => rejected.push(event),
      ...options,
    },
    { clock: createFakeClock(now), newId },
  );
  const work = () => reports.map((report) => report(reporter) as { message_id?: string });
  const scope = context && new RequestScope(() => structuredClone(context) as never);
  const receipts = scope === undefined ? work() : runInScope(scope, work);
  await reporter.flush();
  return {
    ids: receipts.map(({ message_id }) => message_id),
    entries: entries.map(({ stored: { bytes, ...stored }, ...entry }) => ({
      ...entry,
      origin: undefined,
      stored: { ...stored, text: bytes.toString() },
    })),
    rejected: rejected.map(({ channel, error: { code, path, input } }) => [
      channel,
      code,
      path,
      input,
    ]),
    stats: reporter.stats(),
  };
}

const unshared = (scene: Scene) => play({ ...scene, options: { ...scene.options, ...UNSHARED } });

/** Both outcomes where they differ; empty is right. */
async function differences(scene: Scene): Promise<readonly object[]> {
  const [due, actual] = await Promise.all([unshared(scene), play(scene)]);
  return isDeepStrictEqual(actual, due) ? [] : [{ due, actual }];
}

const sample = RECORDS['custom event'].context as {
  readonly actor: LogActor;
  readonly http: LogHttp;
};

const attack: Report = (reporter) => reporter.attack({ ruleset: 'sql_injection' });
const exploit: Report = (reporter) => reporter.vulnerabilityExploit({ protection: 'ssrf_attempt' });
const BOTH = [attack, exploit, attack];

test('attacks and exploits have the same messages, whatever is known of the request', async () => {
  expect(await differences({ reports: BOTH, context: sample })).toEqual([]);
  expect(await differences({ reports: BOTH, context: { http: sample.http } })).toEqual([]);
  expect(await differences({ reports: BOTH })).toEqual([]);
  expect(await differences({ reports: BOTH, context: sample, options: { log: false } })).toEqual(
    [],
  );
});

const OTHERWISE: Readonly<Record<string, Report>> = {
  'words of its own': (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { webhook: { title: 'T' } }),
  'an id of its own': (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { webhook: { message_id: 'm-1' } }),
  'a message of its own': (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { webhook: { message: { not: 'one' } } }),
  'a time of its own': (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { detected_at: '2026-08-01T14:00:00+02:00' }),
  'an actor of its own': (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { actor: { ip: '203.0.113.10' } }),
  'a word of the open dialect': (reporter) => reporter.attack({ ruleset: 'any' }),
  'a playbook': (reporter) => reporter.playbookTrigger({ name: 'Block IPs' }),
  'a login': (reporter) => reporter.userLogin({ success: true }),
  'a custom event': (reporter) => reporter.customEvent('ruleset', { ruleset: 'xss' }),
};

test.each(Object.entries(OTHERWISE))('an event has the same message with %s', async (_, report) => {
  expect(await differences({ reports: [attack, report, attack], context: sample })).toEqual([]);
});

test('a sender of another make gets plain messages', async () => {
  const given: unknown[] = [];
  const send = async (messages: readonly unknown[]) => {
    given.push(...messages);
    return { accepted: ['any'], skipped: [] };
  };
  const told = await play({
    reports: [attack],
    context: sample,
    options: { webhook: { send, flush: async () => ({}), close: async () => ({}) } as never },
  });
  expect(given).toStrictEqual([
    { message_id: told.ids[0], message_type: 'security_event', message: expect.any(Object) },
  ]);
});

test.each([
  { eventUrl: 'https://dashboard.example/{id}?of={id}' },
  { eventUrl: 'urn:x:{id}' },
  { eventWords: { sql_injection: { title: 'T', category: 'c"', kind: '\ud800' } } },
  { eventWords: { sql_injection: { title: 'é"\n\ud800' }, ssrf_attempt: { kind: 'k' } } },
  { service: { svc_id: 'é', name: '"', env: '\ud800' } },
  { service: { svc_id: ',"ips":[', name: 'x'.repeat(300), env: '\\' } },
  { dialect: 'strict' },
] as readonly Partial<ReporterOptions>[])(
  'is told as plainly with the options %j',
  async (options) => {
    expect(await differences({ reports: BOTH, context: sample, options })).toEqual([]);
  },
);

const ruled =
  (module: string): Report =>
  (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { module });

const settings = (more: object, format?: 1) => ({
  settings: {
    ...(format && { format }),
    applications: {
      'shop-1': { name: 'Shop', environment: 'test', url: URL_OF, secret: SECRET, ...more },
    },
  },
});

test.each([
  settings({ modules: { waf: true, rasp: false } }),
  settings({}, 1),
  { settings: { applications: {} } },
  { settings: () => Promise.reject(new Error('no settings')) },
  { ...ONE, maxBodyBytes: 700 },
  { ...ONE, maxBodyBytes: 500 },
])('what a sender does to any message it does to these: %j', async (sender) => {
  const reports = [attack, ruled('waf'), ruled('rasp')];
  expect(await differences({ reports, context: sample, sender })).toEqual([]);
});

/** Runs `work` while every object has the key. */
function polluted<T>(key: string, value: PropertyDescriptor, work: () => T): T {
  Reflect.defineProperty(Object.prototype, key, { configurable: true, writable: true, ...value });
  try {
    return work();
  } finally {
    Reflect.deleteProperty(Object.prototype, key);
  }
}

describe('while a prototype is polluted', () => {
  const EVIL = { configurable: true, writable: true, enumerable: true, value: 'evil' };
  const KEYS = ['evil', 'address', 'message', 'message_id', 'ips', 'v1', 'url'];
  const SENDERS = [ONE, { ...ONE, dialect: 'strict' }];

  test.each(KEYS)('an event has the same message: %s', async (key) => {
    const during: Report = (reporter) => polluted(key, EVIL, () => attack(reporter));
    for (const sender of SENDERS) {
      expect(
        await differences({ reports: [attack, exploit, during, attack], context: sample, sender }),
      ).toEqual([]);
    }
  });

  test.each(KEYS)('by the destination of the record, the message is the same: %s', async (key) => {
    let writes = 0;
    const write = () => {
      writes += 1;
      if (writes % 4 === 3) Reflect.defineProperty(Object.prototype, key, EVIL);
      return true;
    };
    const during: Report = (reporter) => {
      try {
        return attack(reporter);
      } finally {
        Reflect.deleteProperty(Object.prototype, key);
      }
    };
    for (const sender of SENDERS) {
      const options = { log: { destination: { write } } };
      const scene = {
        reports: [attack, exploit, during, attack],
        context: sample,
        sender,
        options,
      };
      // One after the other: one would meet the prototype that the other has polluted.
      writes = 0;
      const actual = await play(scene);
      writes = 0;
      expect(actual).toEqual(await unshared(scene));
      expect(writes).toBe(4);
    }
  });
});

describe('the sender', () => {
  /** The host's own around one of ours. */
  class Around {
    readonly #inner: FollowingSender & WebhookSender<'open'>;
    readonly given: unknown[] = [];

    constructor(inner: object) {
      this.#inner = inner as FollowingSender & WebhookSender<'open'>;
    }

    async [SEND_EACH](...call: Parameters<FollowingSender[typeof SEND_EACH]>) {
      this.given.push(...(await call[0]));
      return this.#inner[SEND_EACH](...call);
    }

    send(...call: Parameters<WebhookSender<'open'>['send']>) {
      return this.#inner.send(...call);
    }

    flush() {
      return this.#inner.flush();
    }

    close() {
      return this.#inner.close();
    }
  }

  test('may be of a class, and is given nothing that it is not known to take', async () => {
    const queue = createMemoryQueue();
    const around = new Around(openSender({ ...ONE, role: 'enqueue', queue } as never));
    const options = { webhook: around as never };
    const told = await play({ reports: [attack], context: sample, options });
    expect(told.rejected).toEqual([]);
    expect(told.stats.accepted).toBe(1);
    expect(around.given).toStrictEqual([
      { message_id: told.ids[0], message_type: 'security_event', message: expect.any(Object) },
    ]);
  });

  test('of another make may change what it is told of its messages', async () => {
    const selections: object[] = [];
    const send = async (_messages: unknown, selection: object) => {
      selections.push(Object.assign(selection, { seen: selections.length }));
      return { accepted: ['any'], skipped: [] };
    };
    const webhook = { send, flush: async () => ({}), close: async () => ({}) };
    const told = await play({ reports: BOTH, options: { webhook: webhook as never } });
    expect(told.stats.accepted).toBe(3);
    expect(selections).toEqual([{ seen: 0 }, { seen: 1 }, { seen: 2 }]);
  });
});

test.each(['"', 'é', '\ud800', 'x'.repeat(200)])('ids may be %j', async (id) => {
  const idOf = (count: number) => `${id}${count}`;
  expect(await differences({ reports: BOTH, context: sample, idOf })).toEqual([]);
});

test.each([0, 253_402_300_799_999, 253_402_300_800_000, -1, Number.NaN])(
  'the time may be %d',
  async (now) => {
    expect(await differences({ reports: BOTH, context: sample, now })).toEqual([]);
  },
);

test('the message is the same whatever is known of the actor', async () => {
  const word = fc.constantFrom('203.0.113.9', '10.0.0.1', '2001:db8::7', 'x');
  const full = { city: 'é"\ud800', country_code: 'FRA', latitude: 45.76, longitude: -0 };
  const geo = fc.constantFrom(
    {},
    full,
    { ...full, country_code: 'fr' },
    { city: 'x' },
    { ...full, latitude: 1e300 },
  );
  const tor = fc.constantFrom(true, false, 'no');
  const context = fc.tuple(word, geo, tor).map(([address, place, isTor]) => {
    const { metadata } = sample.actor.ip;
    return {
      http: sample.http,
      actor: {
        ...sample.actor,
        ip: { address, geo: place, metadata: { ...metadata, tor: isTor } },
      },
    };
  });
  await fc.assert(
    fc.asyncProperty(context, async (given) => {
      expect(await differences({ reports: BOTH, context: given })).toEqual([]);
    }),
    { numRuns: quickOrNightly(100, 1000), seed: 3 },
  );
});
