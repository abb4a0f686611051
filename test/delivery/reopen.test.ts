import { expect, test } from 'vitest';
import { initialState } from '../../src/delivery/circuit-breaker.ts';
import type { Destination } from '../../src/delivery/destination.ts';
import { reopener } from '../../src/delivery/reopen.ts';
import type { Json } from '../../src/queue/queue.ts';
import { ENGINE_SHOP, ENGINE_URL, startEngine, startEngineOn } from '../helpers/fake-engine.ts';
import { POLICY } from '../helpers/queues.ts';
import { messages, NONE } from '../helpers/sender.ts';

interface Case {
  /** Absent if the queue does not know the application. */
  readonly before?: Json;
  /** The state that another request writes while the settings are looked up. */
  readonly after?: Json;
  readonly found?: 'failed' | 'disabled';
}

test.each<[string, Case, string]>([
  ['reopens an application whose URL is new', { before: { urlHash: 'old' } }, 'reopened'],
  ['leaves one whose URL is the same', { before: { urlHash: 'new' } }, 'same'],
  ['leaves one to which nothing was sent yet', { before: null }, 'same'],
  [
    'keeps the Retry-After that the new URL answered during a slow look-up',
    { before: { urlHash: 'old' }, after: { urlHash: 'new' } },
    'same',
  ],
  [
    'keeps the state that a request to a later URL wrote during a slow look-up',
    { before: { urlHash: 'old' }, after: { urlHash: 'later' } },
    'same',
  ],
  ['leaves one that the queue does not know', {}, 'same'],
  ['leaves one that another process has just enqueued', { after: { urlHash: 'old' } }, 'same'],
  ['leaves one whose settings fail', { before: { urlHash: 'old' }, found: 'failed' }, 'unknown'],
  ['leaves a disabled one', { before: { urlHash: 'old' }, found: 'disabled' }, 'unknown'],
])('%s', async (_, { before, after = before, found }, result) => {
  let circuitBreaker = before;
  let reopened = 0;
  const queue = {
    applicationState: async () =>
      circuitBreaker === undefined ? undefined : { ...initialState(POLICY), circuitBreaker },
    reopenApplication: () => {
      reopened += 1;
      return Promise.resolve();
    },
  };
  const resolve = () => {
    circuitBreaker = after;
    return Promise.resolve(
      found === undefined ? ({ urlHash: 'new' } as Destination) : { because: found },
    );
  };
  expect(await reopener(queue, { resolve })('shop-1')).toBe(result);
  expect(reopened).toBe(result === 'reopened' ? 1 : 0);
});

test('a 410 of the old URL makes no dead letters once the settings have a new one', async () => {
  let url = ENGINE_URL;
  const { sender, clock } = startEngine({
    destination: { settings: () => ({ ...ENGINE_SHOP, url }) },
    options: { goneConfirmMs: 0, cautiousMaxMessages: 1 },
    steps: ({ request }) => {
      if (request.url.href !== ENGINE_URL) return 200;
      url = 'https://new.example/';
      return 410;
    },
  });
  await sender.send(messages(3));
  expect(await clock.runUntilSettled(sender.flush())).toEqual({ ...NONE, delivered: 3 });
});

test('a failure of an attempt that began before a reopening does not pause the destination again', async () => {
  const engine = startEngine({
    options: {
      openAfterFailures: 2,
      schedule: { delaysMs: Array(9).fill(1000) },
      minProbeWaitMs: 60_000,
    },
    steps: (_, index) => {
      if (index === 2) void engine.sender.reopen('shop-1');
      return index < 3 ? 'connection-refused' : 200;
    },
  });
  const { sender, clock, poster } = engine;
  await sender.send(messages(1));
  await clock.advance(70_000);
  expect(poster.posts.map(({ atMs }) => atMs)).toEqual([0, 1000, 61_000, 62_000]);
});

test('closed destinations are looked up at once: settings that hang delay `send` by one time limit', async () => {
  let isHanging = false;
  const { sender, clock } = startEngineOn(
    () => ({
      enqueue: async (entries) => {
        isHanging = true;
        return { sequences: [], closed: entries.map(({ applicationId }) => applicationId) };
      },
    }),
    {
      destination: {
        settings: async () => {
          if (isHanging) await clock.sleep(60_000);
          return ENGINE_SHOP;
        },
      },
    },
  );
  const startedAt = clock.monotonicMs();
  const given = ['a', 'b', 'c'].flatMap((id) => messages(1, id));
  const { skipped } = await clock.runUntilSettled(sender.send(given));
  expect(skipped.map(({ reason }) => reason)).toEqual(Array(3).fill('destination-closed'));
  expect(clock.monotonicMs() - startedAt).toBeLessThan(15_000);
});
