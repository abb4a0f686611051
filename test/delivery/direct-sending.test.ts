import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { SendOptions } from '../../src/delivery/options.ts';
import type { SendReport } from '../../src/delivery/report.ts';
import { sendNow } from '../../src/delivery/send-webhook.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { newId } from '../../src/runtime/id.ts';
import { createFakeClock } from '../../src/testing/fake-clock.ts';
import { verify } from '../../src/webhook/signature.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';
import {
  type RecordingClock,
  type RecordingClockOptions,
  recordingClock,
} from '../helpers/clocks.ts';
import {
  type Posted,
  type PostScript,
  type ScriptedPoster,
  scriptedPoster,
} from '../helpers/fake-engine.ts';

const DESTINATION = { url: 'http://receiver.example/hook', secret: 'top secret' };
const NO_RETRY = { delaysMs: [] };
const A_YEAR_MS = 365 * 24 * 60 * 60 * 1000;

interface Scene extends Partial<PostScript> {
  readonly messages: readonly unknown[];
  readonly options?: SendOptions<'strict', 1 | 2>;
  readonly random?: () => number;
  readonly clock?: RecordingClockOptions;
  /** A clock of the test's own. */
  readonly on?: RecordingClock;
}

interface Played {
  readonly report: SendReport;
  readonly poster: ScriptedPoster;
  readonly clock: RecordingClock;
}

async function play(scene: Scene): Promise<Played> {
  const clock = scene.on ?? recordingClock(scene.clock);
  const poster = scriptedPoster(clock, { steps: [200], ...scene });
  const { createPoster } = poster;
  let ids = 0;
  const sending = sendNow(
    { destination: DESTINATION, messages: scene.messages, options: scene.options },
    { clock, random: scene.random ?? (() => 0), newId: () => `new-${++ids}`, createPoster },
  );
  const report = await clock.runUntilSettled(sending, A_YEAR_MS);
  return { report, poster, clock };
}

/** Messages `m0`, `m1` … of these applications. */
function messagesOf(...applications: readonly string[]): object[] {
  const draft = DRAFTS['event to send'];
  return applications.map((application_id, index) => ({
    ...draft,
    message_id: `m${index}`,
    message: { ...draft.message, application_id },
  }));
}

const batch = (count: number): object[] => messagesOf(...Array<string>(count).fill('app-1'));

/** When, what and how often: `0: m0 m1 (0); 500: m0 (1)`. */
const posts = ({ poster }: Played): string =>
  poster.posts
    .map(({ atMs, messages }) => {
      const ids = messages.map((message) => String(message['message_id']));
      const counts = [...new Set(messages.map((message) => Number(message['retry_count'])))];
      return `${atMs}: ${ids.join(' ')} (${counts.join()})`;
    })
    .join('; ');

/** Refuses requests with more than `count` messages. */
const atMost =
  (count: number) =>
  ({ messages }: Posted) =>
    messages.length > count ? 413 : 200;

/** Refuses requests with this message. */
const refusing =
  (id: string) =>
  ({ messages }: Posted) =>
    messages.some((message) => message['message_id'] === id) ? 400 : 200;

const lost = (index: number, reason: string, more: object = {}): object => ({
  index,
  message_id: `m${index}`,
  reason,
  ...more,
});

test('messages that were too many for one request go before those that follow them', async () => {
  const options = { maxMessages: 2 };
  const played = await play({ messages: batch(4), options, steps: atMost(1), postMs: 10 });
  expect(posts(played)).toBe('0: m0 m1 (0); 10: m0 (1); 20: m1 (1); 30: m2 (0); 40: m3 (0)');
});

describe('messages that are delivered at once', () => {
  test('are one request, reported', async () => {
    const played = await play({ messages: batch(3), postMs: 40 });
    expect(posts(played)).toBe('0: m0 m1 m2 (0)');
    const [post] = played.poster.posts;
    expect(played.report).toStrictEqual({
      ok: true,
      delivered: ['m0', 'm1', 'm2'],
      undelivered: [],
      requests: [
        {
          status: 200,
          outcome: 'delivered',
          message_ids: ['m0', 'm1', 'm2'],
          retry_count: 0,
          bytes: post?.request.body.length,
          durationMs: 40,
        },
      ],
    });
  });

  test('are split over requests of 1000 messages', async () => {
    const { report, poster } = await play({ messages: batch(1001) });
    expect(poster.posts.map(({ messages }) => messages.length)).toEqual([1000, 1]);
    expect(report.delivered).toEqual(Array.from({ length: 1001 }, (_, index) => `m${index}`));
  });

  test('are split over requests of maxBodyBytes', async () => {
    const { poster } = await play({ messages: batch(2) });
    // A comma, and the retry count may become longer.
    const maxBodyBytes = (poster.posts[0]?.request.body.length ?? 0) + 20;
    const fits = await play({ messages: batch(3), options: { maxBodyBytes } });
    expect(posts(fits)).toBe('0: m0 m1 (0); 0: m2 (0)');
    const options = { maxBodyBytes: maxBodyBytes - 40 };
    expect(posts(await play({ messages: batch(3), options }))).toBe(
      '0: m0 (0); 0: m1 (0); 0: m2 (0)',
    );
  });

  test('of format 1 are sent as given, under their own ids', async () => {
    const { id: _, ...event } = ELEMENTS['security_event (v1)'];
    const elements = [
      ELEMENTS.pulse,
      event,
      { ...ELEMENTS['security_response (v1)'], id: null },
      { ...ELEMENTS['test (v1)'], id: '' },
    ];
    const { report, poster } = await play({ messages: elements, options: { format: 1 } });
    expect(poster.posts.map(({ messages }) => messages)).toEqual([elements]);
    expect(report.delivered).toEqual(['incident-1', 'event-1', 'new-1', 'new-2']);
  });
});

test('a message that fails is sent again after 0.5, 2 and 5 s, with a new count, date and signature', async () => {
  const played = await play({ messages: batch(2), steps: [500, 'connection-reset', 302, 404] });
  expect(posts(played)).toBe('0: m0 m1 (0); 500: m0 m1 (1); 2500: m0 m1 (2); 7500: m0 m1 (3)');
  const dates = played.poster.posts.map(({ messages }) => messages[1]?.['date_created']);
  expect(dates).toEqual(
    ['00.000', '00.500', '02.500', '07.500'].map((second) => `2026-11-21T10:00:${second}+00:00`),
  );
  for (const { request } of played.poster.posts) {
    const signature = request.headers['X-Svc-Integrity'];
    expect(verify(request.body, signature, DESTINATION.secret)).toBe(true);
  }
  expect(played.report).toMatchObject({
    ok: false,
    delivered: [],
    undelivered: [0, 1].map((index) => lost(index, 'attempts-exhausted', { status: 404 })),
    requests: [
      { status: 500, outcome: 'later', retry_count: 0 },
      { failure: 'connection-reset', detail: 'scripted connection-reset', outcome: 'later' },
      { status: 302, outcome: 'later', retry_count: 2 },
      { status: 404, outcome: 'later', retry_count: 3 },
    ],
  });
});

describe('a call', () => {
  test.each<[string, Scene, string, Partial<Record<keyof SendReport, unknown>>]>([
    [
      'without messages sends nothing',
      { messages: [] },
      '',
      { ok: true, delivered: [], undelivered: [], requests: [] },
    ],
    [
      'waits a delay from the end of the attempt, lengthened by chance',
      { messages: batch(1), steps: [500, 200], postMs: 1000, random: () => 0.5 },
      '0: m0 (0); 1562: m0 (1)',
      { ok: true },
    ],
    [
      'tries again after 410 as after any failure',
      { messages: batch(1), steps: [410, 410, 200] },
      '0: m0 (0); 500: m0 (1); 2500: m0 (2)',
      { requests: ['close', 'close', 'delivered'].map((outcome) => ({ outcome })) },
    ],
    ...['a', 'b'].map((application): [string, Scene, string, object] => [
      `does not delay a message of ${application} that is due earlier than one of a`,
      {
        messages: messagesOf('a', application),
        steps: [{ status: 500, retryAfter: '9' }, 500, 500, 200],
        options: { maxMessages: 1 },
      },
      '0: m0 (0); 0: m1 (0); 500: m1 (1); 2500: m1 (2); 9000: m0 (1)',
      {},
    ]),
    [
      'gives a message up whose delay is longer than maxWaitMs',
      {
        messages: batch(1),
        steps: [500],
        options: { schedule: { delaysMs: [100, 200], maxWaitMs: 150 } },
      },
      '0: m0 (0); 100: m0 (1)',
      { undelivered: [lost(0, 'wait-too-long', { status: 500, retryAfterMs: 200 })] },
    ],
    ...[429, 503].map((status): [string, Scene, string, object] => [
      `holds back all requests for the Retry-After of a ${status}`,
      { messages: messagesOf('a', 'b', 'c'), steps: [200, { status, retryAfter: '7' }, 200] },
      '0: m0 (0); 0: m1 (0); 7000: m2 (0); 7000: m1 (1)',
      { ok: true, requests: [{}, { outcome: 'pause', retryAfterMs: 7000 }, {}, {}] },
    ]),
    [
      'holds back the others also for a message whose attempts are over',
      {
        messages: messagesOf('a', 'b'),
        steps: [{ status: 503, retryAfter: '4' }, 200],
        options: { schedule: NO_RETRY },
      },
      '0: m0 (0); 4000: m1 (0)',
      { undelivered: [lost(0, 'attempts-exhausted', { status: 503, retryAfterMs: 4000 })] },
    ],
    [
      'waits for a Retry-After of 30 s',
      { messages: batch(1), steps: [{ status: 503, retryAfter: '30' }, 200] },
      '0: m0 (0); 30000: m0 (1)',
      { ok: true },
    ],
    [
      'ends with a longer Retry-After, which it reports',
      { messages: messagesOf('a', 'b'), steps: [{ status: 503, retryAfter: '31' }] },
      '0: m0 (0)',
      {
        undelivered: [
          lost(0, 'wait-too-long', { status: 503, retryAfterMs: 31_000 }),
          lost(1, 'wait-too-long', { retryAfterMs: 31_000 }),
        ],
      },
    ],
    [
      'halves a request that is too large at once, and tries no refused size again',
      { messages: batch(5), steps: atMost(1) },
      '0: m0 m1 m2 m3 m4 (0); 0: m0 m1 (1); 0: m0 (2); 0: m1 (2); 0: m2 (1); 0: m3 (1); 0: m4 (1)',
      { ok: true, delivered: ['m0', 'm1', 'm2', 'm3', 'm4'] },
    ],
    [
      'lets halves take turns with other applications, whose requests are smaller, too',
      { messages: messagesOf('a', 'a', 'b', 'b'), steps: atMost(1) },
      '0: m0 m1 (0); 0: m2 (0); 0: m0 (1); 0: m3 (0); 0: m1 (1)',
      { ok: true },
    ],
    [
      'waits for Retry-After before it sends halves',
      { messages: batch(2), steps: [{ status: 413, retryAfter: '2' }, 200] },
      '0: m0 m1 (0); 2000: m0 (1); 2000: m1 (1)',
      { ok: true },
    ],
    [
      'gives halves up whose Retry-After is too long, and goes on',
      { messages: messagesOf('a', 'a', 'b'), steps: [{ status: 413, retryAfter: '40' }, 200] },
      '0: m0 m1 (0); 0: m2 (0)',
      {
        undelivered: [0, 1].map((index) =>
          lost(index, 'wait-too-long', { status: 413, retryAfterMs: 40_000 }),
        ),
      },
    ],
    [
      'finds a message that is refused by bisection, and delivers the others (D74)',
      { messages: batch(2), steps: refusing('m1'), options: { schedule: { delaysMs: [1, 1] } } },
      '0: m0 m1 (0); 1: m0 m1 (1); 1: m0 (2); 1: m1 (2); 2: m1 (3)',
      { delivered: ['m0'], undelivered: [lost(1, 'attempts-exhausted', { status: 400 })] },
    ],
    [
      'waits again if a timer is early',
      { messages: batch(1), steps: [500, 200], clock: { lasts: (ms) => (ms > 1 ? ms - 1 : ms) } },
      '0: m0 (0); 500: m0 (1)',
      { ok: true },
    ],
  ])('%s', async (_title, scene, expected, report) => {
    const played = await play(scene);
    expect(posts(played)).toBe(expected);
    expect(played.report).toMatchObject(report);
  });

  test('never sends a body as large as one that was refused, however long it lasts', async () => {
    // The poster's own clock: the call waits for nothing.
    const { posts: sent, createPoster } = scriptedPoster(createFakeClock(), { steps: atMost(10) });
    const { ok } = await sendNow(
      { destination: DESTINATION, messages: batch(2000), options: {} },
      { clock: systemClock, random: () => 0, newId, createPoster },
    );
    expect(ok).toBe(true);
    const refused: number[] = [];
    for (const { messages, request } of sent) {
      expect(request.body.length).toBeLessThan(Math.min(...refused, Number.POSITIVE_INFINITY));
      if (messages.length > 10) refused.push(request.body.length);
    }
    expect(refused.length).toBeLessThan(12);
  });

  test('has one learned limit for all applications, which grows for all', async () => {
    const played = await play({
      messages: messagesOf('a', 'a', ...Array<string>(58).fill('b')),
      steps: ['deadline', 200],
      options: { maxMessages: 2 },
      postMs: 20,
    });
    const counts = played.poster.posts.map(({ messages: sent }) => sent.length);
    // 20 successes of b have doubled the limit, for a's next request too.
    expect(counts.slice(0, 22)).toEqual([2, ...Array.from({ length: 20 }, () => 1), 2]);
    expect(posts(played)).toMatch(/: m0 m1 \(1\)(?:;|$)/);
  });

  test('measures waits by the monotonic clock', async () => {
    const clock = recordingClock({ onSleep: () => clock.setWallClock(0) });
    const { poster } = await play({ messages: batch(1), steps: [500, 200], on: clock });
    expect(poster.posts.map(({ atMs }) => atMs)).toEqual([0, 500]);
    expect(poster.posts[1]?.messages[0]?.['date_created']).toBe('1970-01-01T00:00:00.500+00:00');
  });

  test('never waits longer than a timer can', async () => {
    const longest = 2 ** 31 - 1;
    const clock = recordingClock();
    const steps = (_: Posted, index: number) => {
      clock.elapse(0.5);
      return index === 0 ? 500 : 200;
    };
    const schedule = { delaysMs: [longest], maxWaitMs: longest };
    const { report } = await play({ messages: batch(1), steps, options: { schedule }, on: clock });
    expect(report.ok).toBe(true);
    expect(Math.max(...clock.sleeps)).toBeLessThanOrEqual(longest);
  });
});

describe("the caller's signal", () => {
  test('aborted before the call: nothing is sent, everything reported', async () => {
    const options = { signal: AbortSignal.abort() };
    const { report, poster } = await play({ messages: batch(2), options });
    expect([poster.posts, poster.closedCount]).toEqual([[], 1]);
    const undelivered = [lost(0, 'aborted'), lost(1, 'aborted')];
    expect(report).toEqual({ ok: false, delivered: [], undelivered, requests: [] });
  });

  test('aborted during an attempt ends it and the call', async () => {
    const caller = new AbortController();
    const { report, poster } = await play({
      messages: messagesOf('a', 'b', 'c'),
      steps: (_, index) => {
        if (index === 1) caller.abort();
        return 200;
      },
      options: { signal: caller.signal, schedule: NO_RETRY },
    });
    expect(poster.posts).toHaveLength(2);
    expect(report.delivered).toEqual(['m0']);
    expect(report.undelivered).toEqual([
      lost(1, 'aborted', { failure: 'aborted', detail: 'scripted aborted' }),
      lost(2, 'aborted'),
    ]);
  });

  test('aborted while waiting ends the call at once', async () => {
    const caller = new AbortController();
    const { report, poster, clock } = await play({
      messages: batch(1),
      steps: [500],
      options: { signal: caller.signal },
      clock: { onSleep: () => caller.abort() },
    });
    expect([poster.posts.length, clock.sleeps]).toEqual([1, [500]]);
    expect(report.undelivered).toEqual([lost(0, 'aborted', { status: 500 })]);
  });

  test('is listened to once during the call and not after it, and never handed on', async () => {
    const { signal } = new AbortController();
    const listening: number[] = [];
    const { poster } = await play({
      messages: batch(1),
      steps: (_, index) => {
        listening.push(getEventListeners(signal, 'abort').length);
        return index < 2 ? 500 : 200;
      },
      options: { signal },
    });
    expect(listening).toEqual([1, 1, 1]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(poster.opened[0]?.signal).not.toBe(signal);
  });
});

describe('the poster', () => {
  test('is made once a call, as the options say, without the secret, and closed', async () => {
    const dispatcher = { request: () => Promise.reject(new Error('unused')) };
    const { poster } = await play({
      messages: batch(1),
      steps: [500, 200],
      options: {
        deadlineMs: 60_000,
        network: 'delegated',
        dispatcher: dispatcher as unknown as NonNullable<SendOptions['dispatcher']>,
      },
    });
    expect(poster.opened).toEqual([
      {
        network: 'delegated',
        dispatcher,
        deadlines: { headersMs: 55_000, totalMs: 60_000 },
        clock: expect.anything(),
        signal: expect.any(AbortSignal),
      },
    ]);
    expect(poster.closedCount).toBe(1);
  });

  test('is closed even when something unforeseen is thrown', async () => {
    const clock = recordingClock();
    const poster = scriptedPoster(clock, {
      steps: () => {
        throw new Error('unforeseen');
      },
    });
    const sending = sendNow(
      { destination: DESTINATION, messages: batch(1) },
      { clock, random: () => 0, newId: String, createPoster: poster.createPoster },
    );
    await expect(sending).rejects.toThrow('unforeseen');
    expect(poster.closedCount).toBe(1);
  });
});
