import { getEventListeners } from 'node:events';
import fc from 'fast-check';
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

/** Messages `m0`, `m1` … of one application. */
function batch(count: number, application = 'app-1'): object[] {
  const draft = DRAFTS['event to send'];
  return Array.from({ length: count }, (_, index) => ({
    ...draft,
    message_id: `m${index}`,
    message: { ...draft.message, application_id: application },
  }));
}

/** A message of so many bytes in a request of its own. */
function sized(message_id: string, bytes: number, application_id = 'app-1'): object {
  const draft = DRAFTS['event to send'];
  const filled = (fill: number) => ({
    message_id,
    message_type: 'security_event',
    message: { ...draft.message, application_id, humanized_description: 'x'.repeat(fill) },
  });
  const envelope = {
    message_id,
    api_version: '2',
    date_created: '2026-11-21T10:00:00.000+00:00',
    message_type: 'security_event',
    retry_count: 0,
    message: filled(0).message,
  };
  return filled(bytes - Buffer.byteLength(JSON.stringify([envelope])));
}

/** When, what and how often: `0: m0 m1 (0); 500: m0 (1)`. */
const posts = ({ poster }: Played): string =>
  poster.posts
    .map(({ atMs, messages }) => {
      const ids = messages.map((message) => String(message['message_id']));
      const counts = [...new Set(messages.map((message) => Number(message['retry_count'])))];
      return `${atMs}: ${ids.join(' ')} (${counts.join()})`;
    })
    .join('; ');

describe('messages that are delivered at once', () => {
  test('is one request, reported', async () => {
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

  test('is nothing without messages, and no request is sent', async () => {
    const { report, poster } = await play({ messages: [] });
    expect(report).toEqual({ ok: true, delivered: [], undelivered: [], requests: [] });
    expect(poster.posts).toEqual([]);
  });

  test('is split over requests of 1000 messages', async () => {
    const { report, poster } = await play({ messages: batch(1001) });
    expect(poster.posts.map(({ messages }) => messages.length)).toEqual([1000, 1]);
    expect(report.delivered).toEqual(Array.from({ length: 1001 }, (_, index) => `m${index}`));
  });

  test('of format 1 is sent as given, under its own ids', async () => {
    const { id: _, ...event } = ELEMENTS['security_event (v1)'];
    const elements = [
      ELEMENTS.pulse,
      event,
      { ...ELEMENTS['security_response (v1)'], id: null },
      { ...ELEMENTS['test (v1)'], id: '' },
    ];
    const { report, poster } = await play({ messages: elements, options: { format: 1 } });
    expect(poster.posts.map(({ messages }) => messages)).toEqual([elements]);
    expect(report.delivered).toEqual(['inc-1', 'ev-1', 'new-1', 'new-2']);
  });
});

describe('a message that fails', () => {
  test('is sent again after 0.5, 2 and 5 s, with a new count, date and signature each time', async () => {
    const played = await play({ messages: batch(2), steps: [500, 'connection-reset', 302, 404] });
    expect(posts(played)).toBe('0: m0 m1 (0); 500: m0 m1 (1); 2500: m0 m1 (2); 7500: m0 m1 (3)');
    const dates = played.poster.posts.map(({ messages }) => messages[1]?.['date_created']);
    expect(dates).toEqual([
      '2026-11-21T10:00:00.000+00:00',
      '2026-11-21T10:00:00.500+00:00',
      '2026-11-21T10:00:02.500+00:00',
      '2026-11-21T10:00:07.500+00:00',
    ]);
    for (const { request } of played.poster.posts) {
      const signature = request.headers['X-Svc-Integrity'];
      expect(verify(request.body, signature, DESTINATION.secret)).toBe(true);
    }
    expect(played.report).toMatchObject({
      ok: false,
      delivered: [],
      undelivered: [
        { index: 0, message_id: 'm0', reason: 'attempts-exhausted', status: 404 },
        { index: 1, message_id: 'm1', reason: 'attempts-exhausted', status: 404 },
      ],
      requests: [
        { status: 500, outcome: 'later', retry_count: 0 },
        {
          failure: 'connection-reset',
          detail: 'scripted connection-reset',
          outcome: 'later',
          retry_count: 1,
        },
        { status: 302, outcome: 'later', retry_count: 2 },
        { status: 404, outcome: 'later', retry_count: 3 },
      ],
    });
  });

  test('waits its delay from the end of its attempt, lengthened by chance', async () => {
    const played = await play({
      messages: batch(1),
      steps: [500, 200],
      postMs: 1000,
      random: () => 0.5,
    });
    expect(posts(played)).toBe('0: m0 (0); 1562: m0 (1)');
    expect(played.clock.sleeps).toEqual([562]);
  });

  test('with 410 is tried again like any failure', async () => {
    const played = await play({ messages: batch(1), steps: [410, 410, 200] });
    expect(posts(played)).toBe('0: m0 (0); 500: m0 (1); 2500: m0 (2)');
    expect(played.report.requests.map(({ outcome }) => outcome)).toEqual([
      'close',
      'close',
      'delivered',
    ]);
  });

  test.each(['a', 'b'])(
    'does not delay another of application %s that is due earlier',
    async (application) => {
      const messages = [...batch(1, 'a'), ...batch(2, application).slice(1)];
      const steps = [{ status: 500, retryAfter: '9' }, 500, 500, 200];
      const played = await play({ messages, steps, options: { maxMessages: 1 } });
      expect(posts(played)).toBe('0: m0 (0); 0: m1 (0); 500: m1 (1); 2500: m1 (2); 9000: m0 (1)');
    },
  );

  test('is given up, with the wait reported, if its delay is longer than maxWaitMs', async () => {
    const options = { schedule: { delaysMs: [100, 200], maxWaitMs: 150 } };
    const played = await play({ messages: batch(1), steps: [500], options });
    expect(posts(played)).toBe('0: m0 (0); 100: m0 (1)');
    expect(played.report.undelivered).toMatchObject([
      { reason: 'wait-too-long', status: 500, retryAfterMs: 200 },
    ]);
  });
});

describe('Retry-After', () => {
  test.each([429, 503])('with %i holds back all other requests, too', async (status) => {
    const messages = [...batch(1, 'a'), ...batch(2, 'b').slice(1), ...batch(3, 'c').slice(2)];
    const steps = [200, { status, retryAfter: '7' }, 200];
    const played = await play({ messages, steps });
    expect(posts(played)).toBe('0: m0 (0); 0: m1 (0); 7000: m2 (0); 7000: m1 (1)');
    expect(played.report.ok).toBe(true);
    expect(played.report.requests[1]).toMatchObject({ outcome: 'pause', retryAfterMs: 7000 });
  });

  test('of a message whose attempts are over still holds back the others', async () => {
    const messages = [...batch(1, 'a'), ...batch(2, 'b').slice(1)];
    const steps = [{ status: 503, retryAfter: '4' }, 200];
    const played = await play({ messages, steps, options: { schedule: NO_RETRY } });
    expect(posts(played)).toBe('0: m0 (0); 4000: m1 (0)');
    expect(played.report.undelivered).toEqual([
      { index: 0, message_id: 'm0', reason: 'attempts-exhausted', status: 503, retryAfterMs: 4000 },
    ]);
  });

  test('of 30 s is awaited; a longer one ends the call, with the wait reported', async () => {
    const waited = await play({
      messages: batch(1),
      steps: [{ status: 503, retryAfter: '30' }, 200],
    });
    expect(posts(waited)).toBe('0: m0 (0); 30000: m0 (1)');
    const messages = [...batch(1, 'a'), ...batch(2, 'b').slice(1)];
    const ended = await play({ messages, steps: [{ status: 503, retryAfter: '31' }] });
    expect(posts(ended)).toBe('0: m0 (0)');
    expect(ended.clock.sleeps).toEqual([]);
    expect(ended.report.undelivered).toEqual([
      { index: 0, message_id: 'm0', reason: 'wait-too-long', status: 503, retryAfterMs: 31_000 },
      { index: 1, message_id: 'm1', reason: 'wait-too-long', retryAfterMs: 31_000 },
    ]);
  });
});

/** Refuses whatever holds more than `count` messages. */
const atMost =
  (count: number, status = 413) =>
  ({ messages }: { readonly messages: readonly unknown[] }) =>
    messages.length > count ? status : 200;

describe('a request that is too large', () => {
  test('is halved at once, and no refused size is tried again', async () => {
    const played = await play({ messages: batch(5), steps: atMost(1) });
    expect(posts(played)).toBe(
      '0: m0 m1 m2 m3 m4 (0); 0: m0 m1 (1); 0: m0 (2); 0: m1 (2); 0: m2 (1); 0: m3 (1); 0: m4 (1)',
    );
    expect(played.report).toMatchObject({ ok: true, delivered: ['m0', 'm1', 'm2', 'm3', 'm4'] });
  });

  test('is never as large as one that was refused, however long the call', async () => {
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

  test('takes turns with requests of other applications, which are smaller, too', async () => {
    const messages = [...batch(2, 'a'), ...batch(4, 'b').slice(2)];
    const played = await play({ messages, steps: atMost(1) });
    expect(posts(played)).toBe('0: m0 m1 (0); 0: m2 (0); 0: m0 (1); 0: m3 (0); 0: m1 (1)');
  });

  test('waits for Retry-After before its halves, unless that is too long', async () => {
    const steps = [{ status: 413, retryAfter: '2' }, 200];
    const waited = await play({ messages: batch(2), steps });
    expect(posts(waited)).toBe('0: m0 m1 (0); 2000: m0 (1); 2000: m1 (1)');
    const tooLong = await play({
      messages: [...batch(2, 'a'), ...batch(3, 'b').slice(2)],
      steps: [{ status: 413, retryAfter: '40' }, 200],
    });
    expect(posts(tooLong)).toBe('0: m0 m1 (0); 0: m2 (0)');
    expect(tooLong.report.undelivered).toEqual(
      [0, 1].map((index) => ({
        index,
        message_id: `m${index}`,
        reason: 'wait-too-long',
        status: 413,
        retryAfterMs: 40_000,
      })),
    );
  });

  test('keeps messages of any sizes in order within their application', async () => {
    const one = fc.record({
      application: fc.constantFrom('a', 'b'),
      bytes: fc.integer({ min: 1000, max: 4000 }),
    });
    const options = { maxBodyBytes: 8000, maxMessages: 3 };
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 12 }), async (given) => {
        const messages = given.map(({ application, bytes }, index) =>
          sized(`m${index}`, bytes, application),
        );
        const { poster, report } = await play({ messages, options });
        expect(report.delivered).toEqual(given.map((_, index) => `m${index}`));
        const sent = poster.posts.map(({ messages: elements, request }) => {
          expect(elements.length).toBeLessThanOrEqual(3);
          expect(request.body.length).toBeLessThanOrEqual(8000);
          const applications = elements.map(
            ({ message }) => (message as { application_id: string }).application_id,
          );
          expect(new Set(applications).size).toBe(1);
          return elements.map(({ message_id }) => ({ application: applications[0], message_id }));
        });
        for (const application of ['a', 'b']) {
          const own = sent.flat().filter((element) => element.application === application);
          expect(own.map(({ message_id }) => message_id)).toEqual(
            given.flatMap((element, index) =>
              element.application === application ? [`m${index}`] : [],
            ),
          );
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("the caller's signal", () => {
  test('aborted before the call: nothing is sent, everything reported', async () => {
    const { report, poster } = await play({
      messages: batch(2),
      options: { signal: AbortSignal.abort() },
    });
    expect(poster.posts).toEqual([]);
    expect(poster.closedCount).toBe(1);
    expect(report).toEqual({
      ok: false,
      delivered: [],
      undelivered: [
        { index: 0, message_id: 'm0', reason: 'aborted' },
        { index: 1, message_id: 'm1', reason: 'aborted' },
      ],
      requests: [],
    });
  });

  test('aborted during an attempt ends it and the call', async () => {
    const caller = new AbortController();
    const { report, poster } = await play({
      messages: [...batch(1, 'a'), ...batch(2, 'b').slice(1), ...batch(3, 'c').slice(2)],
      steps: (_, index) => {
        if (index === 1) caller.abort();
        return 200;
      },
      options: { signal: caller.signal, schedule: NO_RETRY },
    });
    expect(poster.posts).toHaveLength(2);
    expect(report.delivered).toEqual(['m0']);
    expect(report.undelivered).toEqual([
      {
        index: 1,
        message_id: 'm1',
        reason: 'aborted',
        failure: 'aborted',
        detail: 'scripted aborted',
      },
      { index: 2, message_id: 'm2', reason: 'aborted' },
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
    expect(poster.posts).toHaveLength(1);
    expect(clock.sleeps).toEqual([500]);
    expect(report.undelivered).toEqual([
      { index: 0, message_id: 'm0', reason: 'aborted', status: 500 },
    ]);
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

describe('time', () => {
  test('that is set meanwhile does not change a wait', async () => {
    const clock = recordingClock({ onSleep: () => clock.setWallClock(0) });
    const { poster } = await play({ messages: batch(1), steps: [500, 200], on: clock });
    expect(poster.posts.map(({ atMs }) => atMs)).toEqual([0, 500]);
    expect(poster.posts[1]?.messages[0]?.['date_created']).toBe('1970-01-01T00:00:00.500+00:00');
  });

  test('of a timer that is early is waited for again', async () => {
    const played = await play({
      messages: batch(1),
      steps: [500, 200],
      clock: { lasts: (ms) => (ms > 1 ? ms - 1 : ms) },
    });
    expect(posts(played)).toBe('0: m0 (0); 500: m0 (1)');
    expect(played.clock.sleeps).toEqual([500, 1]);
  });

  test('of the longest wait fits a timer', async () => {
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

/** A receiver that refuses a request with this message. */
const refusing =
  (id: string) =>
  ({ messages }: Posted) =>
    messages.some((message) => message['message_id'] === id) ? 400 : 200;

describe('a limit that was learned', () => {
  test('holds for all applications, and grows for all', async () => {
    const messages = [...batch(2, 'a'), ...batch(60, 'b').slice(2)];
    const played = await play({
      messages,
      steps: ['deadline', 200],
      options: { maxMessages: 2 },
      postMs: 20,
    });
    const counts = played.poster.posts.map(({ messages: sent }) => sent.length);
    // 20 successes of b have doubled the limit, for a's next request too.
    expect(counts.slice(0, 22)).toEqual([2, ...Array.from({ length: 20 }, () => 1), 2]);
    expect(posts(played)).toMatch(/: m0 m1 \(1\)(?:;|$)/);
  });
});

describe('a message that the receiver cannot take', () => {
  test('is found by bisection: the others are delivered (D74)', async () => {
    const { report } = await play({ messages: batch(4), steps: refusing('m2') });
    expect(report.delivered).toEqual(['m0', 'm1', 'm3']);
    expect(report.undelivered).toMatchObject([{ message_id: 'm2', status: 400 }]);
  });
});
