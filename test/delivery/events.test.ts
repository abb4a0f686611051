import { describe, expect, test } from 'vitest';
import { type DeliveryEventName, EVENT_TABLE, errorCodeOf } from '../../src/delivery/events.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { ClaimRequest, MessageQueue } from '../../src/queue/queue.ts';
import { type FakeClock, sampleMessageToSend } from '../../src/testing/index.ts';
import type { MessageToSend } from '../../src/webhook/read-messages.ts';
import {
  ENGINE_SECRET,
  ENGINE_URL,
  type PublishedEvent,
  type StartedEngine,
  startEngine,
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

interface Story {
  readonly start: () => StartedEngine;
  /** Default: sends one message and waits for it. */
  readonly act?: (engine: StartedEngine) => Promise<unknown>;
  readonly published: readonly (readonly [DeliveryEventName, object])[];
}

const flushed = async ({ sender, clock }: StartedEngine): Promise<unknown> =>
  await clock.runUntilSettled(sender.flush(), 100 * 3_600_000);

type Method = 'release' | 'deadLetterClosed';

/** A queue in memory whose method fails the first time. */
function failingOnce(method: Method, clock: FakeClock): MessageQueue {
  const queue = createMemoryQueue({}, clock);
  const works = queue[method].bind(queue) as (...args: readonly unknown[]) => Promise<unknown>;
  let calls = 0;
  const fails = async (...args: readonly unknown[]): Promise<unknown> => {
    calls += 1;
    if (calls === 1) throw Object.assign(new Error(ENGINE_SECRET), { code: 'ENOSPC' });
    return await works(...args);
  };
  return Object.assign(queue, { [method]: fails });
}

/** A queue in memory that says that nothing is due, and of nothing when it is, for a while. */
function deaf(clock: FakeClock): MessageQueue {
  const queue = createMemoryQueue({}, clock);
  const hears = clock.now() + 15_000;
  const claim = queue.claim.bind(queue);
  return Object.assign(queue, {
    claim: async (request: ClaimRequest) => (clock.now() < hears ? {} : await claim(request)),
    onDue: () => () => {},
  });
}

const STORIES: Readonly<Record<string, Story>> = {
  'a message that is delivered': {
    start: () => startEngine({}),
    published: [
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'delivered', status: 200 })],
    ],
  },
  'a receiver that asks for a pause': {
    start: () => startEngine({ steps: [{ status: 429, retryAfter: '7' }, 200] }),
    published: [
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'pause', status: 429, retryAfterMs: 7000 })],
      ['destination-paused', { ...shop, waitMs: 7000 }],
      ['attempt-started', started(2)],
      ['attempt-settled', settled(2, { outcome: 'delivered', status: 200 })],
    ],
  },
  'a destination that opens, is probed in vain, and recovers': {
    start: () => startEngine({ steps: ['dns', 'tls', 200], options: { openAfterFailures: 1 } }),
    published: [
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'later', failure: 'dns' })],
      ['destination-opened', { ...shop, waitMs: 5000, failures: 1, ...first, failure: 'dns' }],
      ['destination-probing', shop],
      ['attempt-started', started(2, { isProbe: true })],
      ['attempt-settled', settled(2, { outcome: 'later', failure: 'tls' }, { isProbe: true })],
      ['destination-probing', shop],
      ['attempt-started', started(3, { isProbe: true })],
      ['attempt-settled', settled(3, { outcome: 'delivered', status: 200 }, { isProbe: true })],
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
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'close', status: 410 })],
      ['attempt-started', started(2)],
      ['attempt-settled', settled(2, { outcome: 'close', status: 410 })],
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
        destination: {
          settings: {
            format: 1,
            applications: {
              'shop-1': { name: '', environment: '', url: ENGINE_URL, secret: ENGINE_SECRET },
            },
          },
        },
        steps: [500, 'dns'],
        options: { openAfterFailures: 1, schedule: { delaysMs: [7000] } },
      }),
    published: [
      ['accepted', { ...shop, format: 1, count: 1 }],
      ['attempt-started', started(1, { format: 1 })],
      ['attempt-settled', settled(1, { outcome: 'later', status: 500 }, { format: 1 })],
      ['destination-opened', { ...shop, waitMs: 7000, failures: 1, ...first, status: 500 }],
      ['destination-probing', shop],
      ['attempt-started', started(2, { format: 1, isProbe: true })],
      [
        'attempt-settled',
        settled(2, { outcome: 'later', failure: 'dns' }, { format: 1, isProbe: true }),
      ],
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
        destination: {
          settings: {
            applications: {
              'shop-1': {
                name: 'Shop',
                environment: 'test',
                url: ENGINE_URL,
                secret: ENGINE_SECRET,
                modules: { waf: true },
              },
            },
          },
        },
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
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'later', status: 404 })],
      ['attempt-started', started(2)],
      ['attempt-settled', settled(2, { outcome: 'later', status: 404 })],
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
      ['attempt-started', started(3, { messageCount: 2, maxRetryCount: 0 })],
      [
        'attempt-settled',
        settled(
          3,
          { outcome: 'pause', status: 503, retryAfterMs: 60_000 },
          { messageCount: 2, maxRetryCount: 0 },
        ),
      ],
      ['destination-paused', { ...shop, waitMs: 60_000 }],
      ['discarded', { reason: 'returned', count: 2 }],
    ],
  },
  'a request whose lease has expired': {
    start: () =>
      startEngine({
        options: (clock) => {
          const queue = createMemoryQueue({}, clock);
          const settle = queue.settle.bind(queue);
          let calls = 0;
          const losingOnce: MessageQueue['settle'] = async (...call) => {
            calls += 1;
            return calls === 1 ? 'lost' : await settle(...call);
          };
          return { queue: Object.assign(queue, { settle: losingOnce }) };
        },
      }),
    published: [
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'delivered', status: 200, isLost: true })],
      ['attempt-started', started(2)],
      ['attempt-settled', settled(2, { outcome: 'delivered', status: 200 })],
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
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['destination-missing', { ...shop, waitMs: 40_000, because: 'unusable' }],
      ['destination-missing', { ...shop, waitMs: 40_000, because: 'failed' }],
      ['destination-missing', { ...shop, waitMs: 40_000, because: 'unknown' }],
      ['dead', { ...shop, message_id: 'm-1', reason: 'horizon-passed' }],
    ],
  },
  'a message that is due and nobody picks up': {
    start: () =>
      startEngine({
        options: (clock) => ({
          queue: deaf(clock),
          maintenanceIntervalMs: 10_000,
          stalledAfterMs: 9000,
        }),
      }),
    published: [
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['stalled', { oldestDueMs: 10_000 }],
      ['stalled', { oldestDueMs: 20_000 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'delivered', status: 200 })],
    ],
  },
  'a queue that fails when a destination is closed, and is asked again': {
    start: () =>
      startEngine({
        steps: [410],
        options: (clock) => ({
          queue: failingOnce('deadLetterClosed', clock),
          goneConfirmMs: 0,
          maintenanceIntervalMs: 8000,
        }),
      }),
    published: [
      ['accepted', { ...shop, format: 2, count: 1 }],
      ['attempt-started', started(1)],
      ['attempt-settled', settled(1, { outcome: 'close', status: 410 })],
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
    const [, attempt] = engine.published[1] ?? [];
    expect(attempt?.['bytes']).toBe(engine.poster.posts[0]?.request.body.length);
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
