/** The fast path of channel B, held against the plain one: what the queue is given, byte by byte. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestScope, runInScope } from '../../src/capture/request-scope.ts';
import type { LogActor, LogHttp } from '../../src/contract/index.ts';
import { type FollowingSender, SEND_EACH, type WebhookSender } from '../../src/delivery/sender.ts';
import { CheckedDraft } from '../../src/delivery/validated-message.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { QueueEntry } from '../../src/queue/queue.ts';
import { makeReporter } from '../../src/reporter/create-reporter.ts';
import type { QuickDraft } from '../../src/reporter/event-draft.ts';
import { QuickDrafts } from '../../src/reporter/quick-draft.ts';
import { QuickMessages } from '../../src/reporter/quick-message.ts';
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
/** With it each event is looked at as a whole, and nothing of it is changed. */
const PLAINLY: Partial<ReporterOptions> = { beforeSend: () => {} };

type Tell = (reporter: Reporter) => unknown;

interface Scene {
  readonly tells: readonly Tell[];
  readonly context?: { readonly actor?: unknown; readonly http?: unknown };
  readonly options?: Partial<ReporterOptions>;
  readonly sender?: object;
  readonly now?: number;
  readonly idOf?: (count: number) => string;
}

const uuidOf = (count: number) => `01900000-0000-7000-8000-${String(count).padStart(12, '0')}`;

/** What came out at the far end of channel B, and how many messages were not read again. */
async function play({ tells, context, options, sender = ONE, now = AT, idOf = uuidOf }: Scene) {
  const entries: QueueEntry[] = [];
  const queue = wrapQueue(createMemoryQueue(), {
    enqueue: (given) => {
      entries.push(...given);
      return Promise.resolve({ sequences: given.map((_, index) => index + 1), closed: [] });
    },
  });
  const webhook = openSender({ dialect: 'open', role: 'enqueue', queue, ...sender } as never);
  let checked = 0;
  const following = webhook as unknown as FollowingSender;
  const sendEach: FollowingSender[typeof SEND_EACH] = (messages, selection) => {
    const counted = messages.then((all) => {
      checked += all.filter((one) => CheckedDraft.read(one) !== undefined).length;
      return all;
    });
    return following[SEND_EACH](counted, selection);
  };
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
      webhook: { ...webhook, [SEND_EACH]: sendEach } as typeof webhook,
      onRejected: (event) => rejected.push(event),
      ...options,
    },
    { clock: createFakeClock(now), newId },
  );
  const work = () => tells.map((tell) => tell(reporter) as { message_id?: string });
  const scope = context && new RequestScope(() => structuredClone(context) as never);
  const receipts = scope === undefined ? work() : runInScope(scope, work);
  await reporter.flush();
  const told = {
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
  return { told, checked };
}

const plainly = (scene: Scene) => play({ ...scene, options: { ...scene.options, ...PLAINLY } });

/** Gives how many messages were not read again. */
async function expectSame(scene: Scene): Promise<number> {
  const [quick, plain] = await Promise.all([play(scene), plainly(scene)]);
  expect(quick.told).toEqual(plain.told);
  expect(plain.checked).toBe(0);
  return quick.checked;
}

const sample = RECORDS['custom event'].context as {
  readonly actor: LogActor;
  readonly http: LogHttp;
};

const attack: Tell = (reporter) => reporter.attack({ ruleset: 'sql_injection' });
const exploit: Tell = (reporter) => reporter.vulnerabilityExploit({ protection: 'ssrf_attempt' });
const BOTH = [attack, exploit, attack];

test('attacks and exploits of a request are not read again', async () => {
  expect(await expectSame({ tells: BOTH, context: sample })).toBe(3);
  expect(await expectSame({ tells: BOTH, context: { http: sample.http } })).toBe(3);
  expect(await expectSame({ tells: BOTH })).toBe(3);
  // Without a record nothing was checked that could be told.
  expect(await expectSame({ tells: BOTH, context: sample, options: { log: false } })).toBe(0);
});

const OTHERWISE: Readonly<Record<string, Tell>> = {
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

test.each(Object.entries(OTHERWISE))('is told plainly where it is of %s', async (_name, tell) => {
  expect(await expectSame({ tells: [tell], context: sample })).toBe(0);
  expect(await expectSame({ tells: [attack, tell, attack], context: sample })).toBe(2);
});

test('a sender of another make is given messages as it was before', async () => {
  const given: unknown[] = [];
  const send = async (messages: readonly unknown[]) => {
    given.push(...messages);
    return { accepted: ['any'], skipped: [] };
  };
  const { told } = await play({
    tells: [attack],
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
    expect(await expectSame({ tells: BOTH, context: sample, options })).toBeGreaterThan(0);
  },
);

const ruled =
  (module: string): Tell =>
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
  const tells = [attack, ruled('waf'), ruled('rasp')];
  expect(await expectSame({ tells, context: sample, sender })).toBe(3);
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

  test.each(KEYS)('an event is told as plainly, whatever is known already: %s', async (key) => {
    const during: Tell = (reporter) => polluted(key, EVIL, () => attack(reporter));
    for (const sender of SENDERS) {
      const scene = { tells: [attack, exploit, during, attack], context: sample, sender };
      expect(await expectSame(scene)).toBe(3);
    }
  });

  test.each(KEYS)('by the destination that it is written to, it is: %s', async (key) => {
    let writes = 0;
    const write = () => {
      writes += 1;
      if (writes % 4 === 3) Reflect.defineProperty(Object.prototype, key, EVIL);
      return true;
    };
    const during: Tell = (reporter) => {
      try {
        return attack(reporter);
      } finally {
        Reflect.deleteProperty(Object.prototype, key);
      }
    };
    for (const sender of SENDERS) {
      const options = { log: { destination: { write } } };
      const tells = [attack, exploit, during, attack];
      // An id is taken before it shows that the plain way has to be gone.
      const idOf = () => uuidOf(1);
      const scene = { tells, context: sample, sender, options, idOf };
      // Apart: what one has the prototypes polluted with, the other would meet.
      writes = 0;
      const quick = await play(scene);
      writes = 0;
      const plain = await plainly(scene);
      expect(quick.told).toEqual(plain.told);
      expect([quick.checked, plain.checked, writes]).toEqual([3, 0, 4]);
    }
  });

  test.each([undefined, sample])(
    'an address that nobody sees is nobody’s, with the context %#',
    async (context) => {
      const hidden = { enumerable: false, value: { toTime: 'evil', rest: 'evil' } };
      const during: Tell = (reporter) => polluted('address', hidden, () => attack(reporter));
      for (const sender of SENDERS) {
        const scene = { tells: [during, attack, during], sender, ...(context && { context }) };
        const quick = await play(scene);
        expect(quick.told).toEqual((await plainly(scene)).told);
        expect(quick.told.rejected).toEqual([]);
        expect(quick.checked).toBe(3);
      }
    },
  );
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
    const { told } = await play({ tells: [attack], context: sample, options });
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
    const { told } = await play({ tells: BOTH, options: { webhook: webhook as never } });
    expect(told.stats.accepted).toBe(3);
    expect(selections).toEqual([{ seen: 0 }, { seen: 1 }, { seen: 2 }]);
  });
});

test.each(['"', 'é', '\ud800', 'x'.repeat(200)])('ids may be %j', async (id) => {
  const idOf = (count: number) => `${id}${count}`;
  expect(await expectSame({ tells: BOTH, context: sample, idOf })).toBe(3);
});

test.each([
  [0, 3],
  [253_402_300_799_999, 3],
  [253_402_300_800_000, 0],
  [-1, 3],
  [Number.NaN, 0],
])('the time may be %d', async (now, checked) => {
  expect(await expectSame({ tells: BOTH, context: sample, now })).toBe(checked);
});

test('is told as plainly whatever is known of the actor', async () => {
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
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(context, async (given) => {
      checked += await expectSame({ tells: BOTH, context: given });
    }),
    { numRuns: quickOrNightly(100, 1000), seed: 3 },
  );
  expect(checked).toBeGreaterThan(20);
});

const rulesOf = (service: typeof SERVICE) => ({
  service,
  eventWords: {},
  incidentWords: {},
  urlOf: (id: string) => `urn:uuid:${id}`,
  hasUrls: false,
  newId: () => 'id',
});

/** As one is drafted that names this protection. */
function draftOf(drafts: QuickDrafts, protection: string): QuickDraft | undefined {
  const kind = 'vulnerabilityExploit';
  const call = { kind, payload: {}, given: {}, context: {}, module: undefined } as const;
  return drafts.of(call, { protection }, { request: sample, scope: undefined, nowMs: AT });
}

const messageOf = (messages: QuickMessages, draft: QuickDraft | undefined) =>
  draft && messages.of('vulnerabilityExploit', draft);

test.each([
  ['with the reporter, which is before the first event', {}, [1, 1]],
  ['at the first event, where a prototype was polluted before', { evil: true }, [0, 1]],
])('what all messages have in common is made %s', (_name, keys, expected) => {
  let asked = 0;
  const service = {
    ...SERVICE,
    get name() {
      asked += 1;
      return SERVICE.name;
    },
  };
  Object.assign(Object.prototype, keys);
  let messages: QuickMessages;
  try {
    messages = new QuickMessages(rulesOf(service));
  } finally {
    for (const key of Object.keys(keys)) Reflect.deleteProperty(Object.prototype, key);
  }
  const before = asked;
  const draft = draftOf(new QuickDrafts(SERVICE), 'ssrf_attempt');
  expect(messageOf(messages, draft)).toBeInstanceOf(CheckedDraft);
  expect(messageOf(messages, draft)).toBeInstanceOf(CheckedDraft);
  expect([before, asked]).toEqual(expected);
});

test('words that are not kept are told as those that are', () => {
  const [messages, drafts] = [new QuickMessages(rulesOf(SERVICE)), new QuickDrafts(SERVICE)];
  const textOf = (protection: string) => {
    const told = messageOf(messages, draftOf(drafts, protection));
    return (told?.message as { readonly event_kind: string } | undefined)?.event_kind;
  };
  const words = Array.from({ length: 500 }, (_, index) => `word_${index}`);
  expect(words.map(textOf)).toEqual(words);
  expect(words.map(textOf)).toEqual(words);
});
