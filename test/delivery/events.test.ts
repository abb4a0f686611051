import { describe, expect, test } from 'vitest';
import { type DeliveryEventName, EVENT_TABLE, errorCodeOf } from '../../src/delivery/events.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { type FakeClock, sampleMessageToSend } from '../../src/testing/index.ts';
import type { MessageToSend } from '../../src/webhook/read-messages.ts';
import {
  ENGINE_SECRET,
  ENGINE_SHOP,
  type PublishedEvent,
  type StartedEngine,
  startEngine,
  startEngineOn,
} from '../helpers/fake-engine.ts';

const PAYLOAD = 'a secret word of the payload';
const SETTINGS_ERROR = 'an error of the settings with hunter2 in it';

const message = (id: string): MessageToSend =>
  sampleMessageToSend('security_response', {
    message_id: id,
    message: { application: { id: 'shop-1' }, playbook: { name: PAYLOAD } },
  });

const shop = { applicationId: 'shop-1' };

/** A message after its first attempt. */
const first = { message_type: 'security_response', attempts: 1, ageMs: 0 };

const started = (attempt: number, more: object = {}): object => ({
  ...shop,
  attempt,
  format: 2,
  messageCount: 1,
  bytes: expect.any(Number),
  maxRetryCount: attempt - 1,
  isProbe: false,
  ...more,
});

const settled = (attempt: number, end: object, more: object = {}): object => ({
  ...started(attempt, more),
  timings: { totalMs: 0 },
  reusedConnection: false,
  ...end,
});

type Published = readonly [DeliveryEventName, object];

/** The events of an attempt: its beginning, and its end. */
const attempt = (count: number, end: object, more: object = {}): readonly Published[] => [
  ['attempt-started', started(count, more)],
  ['attempt-settled', settled(count, end, more)],
];

const ACCEPTED: Published = ['accepted', { ...shop, format: 2, count: 1 }];
const DELIVERED = { outcome: 'delivered', status: 200 };

interface Story {
  readonly start: () => StartedEngine;
  /** Default: sends one message and waits for it. */
  readonly act?: (engine: StartedEngine) => Promise<unknown>;
  readonly published: readonly Published[];
}

const flushed = async ({ sender, clock }: StartedEngine): Promise<unknown> =>
  await clock.runUntilSettled(sender.flush(), 100 * 3_600_000);

/** Says that nothing is due, even if it is, for a while. */
const deaf = (queue: MessageQueue, clock: FakeClock): Partial<MessageQueue> => {
  const hears = clock.now() + 15_000;
  return {
    claim: async (request) => (clock.now() < hears ? {} : await queue.claim(request)),
    onDue: () => () => {},
  };
};

const STORIES: Readonly<Record<string, Story>> = {
  'a message that is delivered': {
    start: () => startEngine({}),
    published: [ACCEPTED, ...attempt(1, DELIVERED)],
  },
  'a receiver that asks for a pause': {
    start: () => startEngine({ steps: [{ status: 429, retryAfter: '7' }, 200] }),
    published: [
      ACCEPTED,
      ...attempt(1, { outcome: 'pause', status: 429, retryAfterMs: 7000 }),
      ['destination-paused', { ...shop, waitMs: 7000 }],
      ...attempt(2, DELIVERED),
    ],
  },
  'a destination that opens, is probed in vain, and recovers': {
    start: () => startEngine({ steps: ['dns', 'tls', 200], options: { openAfterFailures: 1 } }),
    published: [
      ACCEPTED,
      ...attempt(1, { outcome: 'later', failure: 'dns' }),
      ['destination-opened', { ...shop, waitMs: 5000, failures: 1, ...first, failure: 'dns' }],
      ['destination-probing', shop],
      ...attempt(2, { outcome: 'later', failure: 'tls' }, { isProbe: true }),
      ['destination-probing', shop],
      ...attempt(3, DELIVERED, { isProbe: true }),
      ['destination-recovered', shop],
    ],
  },
  'a destination that closes itself': {
    start: () => startEngine({ steps: [410], options: { goneConfirmMs: 5000 } }),
    act: async (engine) => {
      await engine.sender.send([message('m-1')]);
      await flushed(engine);
      await engine.sender.send([message('m-2'), message('m-3')]);
    },
    published: [
      ACCEPTED,
      ...attempt(1, { outcome: 'close', status: 410 }),
      ...attempt(2, { outcome: 'close', status: 410 }),
      [
        'destination-closed',
        { ...shop, failures: 2, ...first, attempts: 2, ageMs: 5000, status: 410 },
      ],
      ['dead', { ...shop, message_id: 'm-1', reason: 'destination-closed' }],
      ['skipped', { ...shop, reason: 'destination-closed', count: 2 }],
    ],
  },
  'a message of format 1 whose destination fails until its attempts are over': {
    start: () =>
      startEngine({
        destination: { settings: () => ({ ...ENGINE_SHOP, format: 1 }) },
        steps: [500, 'dns'],
        options: { openAfterFailures: 1, schedule: { delaysMs: [7000] } },
      }),
    published: [
      ['accepted', { ...shop, format: 1, count: 1 }],
      ...attempt(1, { outcome: 'later', status: 500 }, { format: 1 }),
      ['destination-opened', { ...shop, waitMs: 7000, failures: 1, ...first, status: 500 }],
      ['destination-probing', shop],
      ...attempt(2, { outcome: 'later', failure: 'dns' }, { format: 1, isProbe: true }),
      [
        'dead',
        {
          ...shop,
          message_id: 'm-1',
          message_type: 'security_response',
          reason: 'attempts-exhausted',
          attempts: 2,
          ageMs: 7000,
          failure: 'dns',
        },
      ],
    ],
  },
  'messages that are skipped, dead, purged and handed back': {
    start: () =>
      startEngine({
        destination: { settings: () => ({ ...ENGINE_SHOP, modules: { waf: true } }) },
        steps: [404, 404, { status: 503, retryAfter: '60' }],
        options: { refusedMaxAttempts: 2 },
      }),
    act: async (engine) => {
      const { sender, clock } = engine;
      await sender.send([message('no')], { module: 'rasp' });
      await sender.send([message('m-1')], { module: 'waf' });
      await flushed(engine);
      await sender.purge();
      await sender.purge();
      await sender.send([message('m-2'), message('m-3')]);
      await clock.advance(1);
      await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    },
    published: [
      ['skipped', { ...shop, reason: 'module-not-selected', count: 1 }],
      ACCEPTED,
      ...attempt(1, { outcome: 'later', status: 404 }),
      ...attempt(2, { outcome: 'later', status: 404 }),
      [
        'dead',
        {
          ...shop,
          message_id: 'm-1',
          message_type: 'security_response',
          reason: 'attempts-exhausted',
          attempts: 2,
          ageMs: 5000,
          status: 404,
        },
      ],
      ['discarded', { reason: 'purged', count: 1 }],
      ['accepted', { ...shop, format: 2, count: 2 }],
      ...attempt(
        3,
        { outcome: 'pause', status: 503, retryAfterMs: 60_000 },
        { messageCount: 2, maxRetryCount: 0 },
      ),
      ['destination-paused', { ...shop, waitMs: 60_000 }],
      ['discarded', { reason: 'returned', count: 2 }],
    ],
  },
  'a request whose lease has expired': {
    start: () =>
      startEngineOn((queue) => {
        let calls = 0;
        return {
          settle: async (...call) => {
            calls += 1;
            return calls === 1 ? 'lost' : await queue.settle(...call);
          },
        };
      }),
    published: [
      ACCEPTED,
      ...attempt(1, { outcome: 'delivered', status: 200, isLost: true }),
      ...attempt(2, DELIVERED),
    ],
  },
  'a message whose destination is missing until its horizon': {
    start: () => {
      let asked = 0;
      const settings = (): object | undefined => {
        asked += 1;
        if (asked === 1) return { name: '', environment: '' };
        if (asked === 3) throw new Error(SETTINGS_ERROR);
        return asked === 2
          ? { name: '', environment: '', url: 'ftp://hunter2.example', secret: ENGINE_SECRET }
          : undefined;
      };
      const schedule = { delaysMs: [40_000], horizonMs: 1000 };
      return startEngine({ destination: { settings }, options: { schedule } });
    },
    published: [
      ACCEPTED,
      ['destination-missing', { ...shop, waitMs: 40_000, because: 'unusable' }],
      ['destination-missing', { ...shop, waitMs: 40_000, because: 'failed' }],
      ['destination-missing', { ...shop, waitMs: 40_000, because: 'unknown' }],
      ['dead', { ...shop, message_id: 'm-1', reason: 'horizon-passed' }],
    ],
  },
  'a message that is due and nobody picks up': {
    start: () =>
      startEngineOn(deaf, { options: { maintenanceIntervalMs: 10_000, stalledAfterMs: 9000 } }),
    published: [
      ACCEPTED,
      ['stalled', { oldestDueMs: 10_000 }],
      ['stalled', { oldestDueMs: 20_000 }],
      ...attempt(1, DELIVERED),
    ],
  },
  'a queue that fails when a destination is closed, and is asked again': {
    start: () =>
      startEngineOn(
        (queue) => {
          let calls = 0;
          return {
            deadLetterClosed: async (...call) => {
              calls += 1;
              if (calls > 1) return await queue.deadLetterClosed(...call);
              throw Object.assign(new Error(ENGINE_SECRET), { code: 'ENOSPC' });
            },
          };
        },
        { steps: [410], options: { goneConfirmMs: 0, maintenanceIntervalMs: 8000 } },
      ),
    published: [
      ACCEPTED,
      ...attempt(1, { outcome: 'close', status: 410 }),
      ['destination-closed', { ...shop, failures: 1, ...first, status: 410 }],
      ['queue-failed', { operation: 'close', retryInMs: 8000, errorCode: 'ENOSPC' }],
      ['dead', { ...shop, message_id: 'm-1', reason: 'destination-closed' }],
    ],
  },
};

async function sendOne(engine: StartedEngine): Promise<void> {
  await engine.sender.send([message('m-1')]);
  await flushed(engine);
}

async function runStory({ start, act = sendOne }: Story): Promise<StartedEngine> {
  const engine = start();
  await act(engine);
  return engine;
}

describe('an engine publishes every event in order, with every field, for', () => {
  test.each(Object.entries(STORIES))('%s', async (_title, story) => {
    const { published } = await runStory(story);
    expect(published).toEqual(story.published);
  });

  test('the size of the body of an attempt', async () => {
    const engine = await runStory({ start: () => startEngine({}), published: [] });
    const [, event] = engine.published[1] ?? [];
    expect(event?.['bytes']).toBe(engine.poster.posts[0]?.request.body.length);
  });
});

const publishedByAll = async (): Promise<readonly PublishedEvent[]> => {
  const engines: StartedEngine[] = [];
  for (const story of Object.values(STORIES)) engines.push(await runStory(story));
  return engines.flatMap(({ published }) => published);
};

test('an error of a queue has the innermost code, also if it is its own cause', () => {
  const inner = Object.assign(new Error('no server'), { code: 'ECONNREFUSED' });
  const outer = Object.assign(new Error('no answer', { cause: inner }), {
    code: 'ERR_QUEUE_FAILED',
  });
  expect(errorCodeOf(outer)).toEqual({ errorCode: 'ECONNREFUSED' });
  inner.cause = outer;
  expect(errorCodeOf(outer)).toEqual({ errorCode: 'ECONNREFUSED' });
  expect(errorCodeOf('no server')).toEqual({});
  expect(errorCodeOf(Object.assign(new Error('no word'), { code: 7 }))).toEqual({});
});

describe('the table of events', () => {
  test('lists exactly the events and fields that an engine publishes', async () => {
    const fields = new Map<string, Set<string>>();
    for (const [name, event] of await publishedByAll()) {
      const known = fields.get(name) ?? new Set();
      for (const field of Object.keys(event)) known.add(field);
      fields.set(name, known);
    }
    const listed = Object.entries(EVENT_TABLE).map(([name, row]) => [
      name,
      [...row.fields].map(String).toSorted(),
    ]);
    expect(
      Object.fromEntries([...fields].map(([name, known]) => [name, [...known].toSorted()])),
    ).toEqual(Object.fromEntries(listed));
  });

  test('never puts a secret, a URL, a payload or received text into an event', async () => {
    expect(JSON.stringify(await publishedByAll())).not.toMatch(
      /hunter2|horse|receiver|secret word/,
    );
  });
});
