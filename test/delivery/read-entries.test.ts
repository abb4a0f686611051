import { describe, expect, test } from 'vitest';
import { readEntries } from '../../src/delivery/send-webhook.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { AcceptedEntry } from '../../src/webhook/accept.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';

const EVENT = DRAFTS['event to send'];

type Rules = Parameters<typeof readEntries>[1];

function accept(
  messages: unknown,
  rules: Partial<Rules> = {},
  clock = createFakeClock(),
): Promise<readonly AcceptedEntry[]> {
  let ids = 0;
  const newId = () => `new-${++ids}`;
  const defaults = { format: 2, dialect: 'strict', maxBodyBytes: 1_048_576 } as const;
  return readEntries(messages, { ...defaults, ...rules }, { clock, newId });
}

const errorOf = (messages: unknown, rules: Partial<Rules> = {}): Promise<unknown> =>
  accept(messages, rules).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('accepted messages', () => {
  test('are stored in the canonical spelling (D27)', async () => {
    const { date_occurred, ...message } = EVENT.message;
    const misspelt = { ...EVENT, message: { ...message, date_occured: date_occurred } };
    const [accepted] = await accept([misspelt]);
    expect(accepted?.stored.bytes.toString()).toContain(`"date_occurred":"${date_occurred}"`);
  });

  test('do not contain the hints for their v1 form', async () => {
    const [accepted] = await accept([DRAFTS['incident to send']]);
    expect(accepted?.stored.bytes.toString()).not.toContain('pulse_genre');
  });

  test.each([
    ['open', true],
    ['strict', false],
  ] as const)(
    'of format 1 follow the dialect %s: a new genre is accepted: %s',
    async (dialect, taken) => {
      const pulse = { ...ELEMENTS.pulse, pulse_genre: 'unheard_of' };
      expect((await errorOf([pulse], { dialect, format: 1 })) === undefined).toBe(taken);
    },
  );

  test('are those of the array when it was given, although the host empties it between turns', async () => {
    const batch: unknown[] = Array.from({ length: 3 }, () => EVENT);
    const clock = createFakeClock();
    // Each message takes so long that the call yields to the event loop.
    const monotonicMs = (): number => {
      clock.elapse(100);
      return clock.monotonicMs();
    };
    const accepting = accept(batch, {}, { ...clock, monotonicMs });
    batch.length = 0;
    expect(await accepting).toHaveLength(3);
  });
});

describe('a batch is refused', () => {
  test.each([
    ['nothing', undefined, 'nothing'],
    ['one message', EVENT, 'an object'],
  ])('if it is %s instead of an array', async (_what, messages, found) => {
    expect(await errorOf(messages)).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [],
      message: expect.stringContaining(
        `the contract: expected an array of messages, found ${found}. `,
      ),
    });
  });

  test.each<[string, unknown, readonly PropertyKey[], string]>([
    ['is nothing', undefined, [1], '1: expected an object, found nothing'],
    ['has its own envelope', { ...EVENT, retry_count: 0 }, [1], '1: unknown key "retry_count"'],
    [
      'lacks a field deep inside',
      { ...EVENT, message: { ...EVENT.message, ips: [{ ...EVENT.message.ips[0], is_tor: 1 }] } },
      [1, 'message', 'ips', 0, 'is_tor'],
      '1.message.ips.0.is_tor: expected true or false, found a number',
    ],
  ])('if a message %s, with its index', async (_what, wrong, path, detail) => {
    const error = await errorOf([EVENT, wrong, EVENT]);
    expect(error).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path,
      message: expect.stringContaining(detail),
    });
  });

  test('if an element does not follow format 1', async () => {
    const { pulse_genre: _, ...pulse } = ELEMENTS.pulse;
    expect(await errorOf([ELEMENTS.pulse, pulse], { format: 1 })).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [1, 'pulse_genre'],
    });
    expect(await errorOf([EVENT], { format: 1 })).toMatchObject({ path: [0, 'svc_payload_type'] });
    expect(await errorOf([ELEMENTS.pulse], { format: 2 })).toMatchObject({
      path: [0, 'message_type'],
    });
  });

  test('with all its faults, in order', async () => {
    const wrong = { ...EVENT, message_id: '', message: { ...EVENT.message, ips: 0, event_id: 1 } };
    expect(await errorOf([EVENT, wrong, { ...EVENT, a: 1 }])).toMatchObject({
      issues: [
        { path: [1, 'message_id'] },
        { path: [1, 'message', 'event_id'] },
        { path: [1, 'message', 'ips'] },
        { path: [2], message: 'unknown key "a"' },
      ],
    });
  });

  test('if one message has more faults than a call may have arguments', async () => {
    const ips = Array.from({ length: 130_000 }, () => 0);
    const error = await errorOf([{ ...EVENT, message: { ...EVENT.message, ips } }]);
    expect(error).toMatchObject({ code: 'ERR_INVALID_MESSAGE', path: [0, 'message', 'ips', 0] });
    expect(error).toHaveProperty('issues.length', 100);
  });

  test('if reading a message throws, with the cause', async () => {
    const cause = new Error('lazy loading failed');
    const trap = {
      ...EVENT,
      get message() {
        throw cause;
      },
    };
    expect(await errorOf([EVENT, trap])).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [1],
      cause,
      message: expect.stringContaining(': 1: reading the message threw. '),
    });
  });

  test('without any of its text in the error', async () => {
    const secret = 'private text';
    const message = { ...EVENT.message, event_id: [secret], ips: secret, event_url: secret };
    expect(String(await errorOf([{ ...EVENT, message }]))).not.toContain(secret);
  });
});
