import { describe, expect, test } from 'vitest';
import { type AcceptedEntry, type AcceptRules, acceptMessages } from '../../src/webhook/accept.ts';
import { requestBytes } from '../../src/webhook/encoder.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';

const EVENT = DRAFTS['event to send'];

function rules(changes: Partial<AcceptRules> = {}): AcceptRules {
  let ids = 0;
  return {
    format: 2,
    dialect: 'strict',
    maxBodyBytes: 1_048_576,
    newId: () => `new-${++ids}`,
    ...changes,
  };
}

const accept = (messages: unknown, given: AcceptRules = rules()): Promise<AcceptedEntry[]> =>
  acceptMessages(messages, given, async () => {});

const errorOf = (messages: unknown, changes: Partial<AcceptRules> = {}): Promise<unknown> =>
  accept(messages, rules(changes)).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('accepted messages', () => {
  test('are stored in order, with their index and their application', async () => {
    const accepted = await accept(Object.values(DRAFTS));
    expect(accepted.map(({ index, applicationId }) => [index, applicationId])).toEqual(
      Object.keys(DRAFTS).map((_, index) => [index, 'app-1']),
    );
    expect(accepted.map(({ stored }) => stored.messageId)).toEqual(
      Object.keys(DRAFTS).map(() => 'msg-1'),
    );
  });

  test('are given the ids they lack, one each', async () => {
    const { message_id: _, ...draft } = EVENT;
    const accepted = await accept([draft, EVENT, draft]);
    expect(accepted.map(({ stored }) => stored.messageId)).toEqual(['new-1', 'msg-1', 'new-2']);
  });

  test('of one id are two messages (D21)', async () => {
    expect(await accept([EVENT, EVENT])).toHaveLength(2);
  });

  test('are stored in the canonical spelling, whatever the caller wrote (D27)', async () => {
    const { date_occurred, ...message } = EVENT.message;
    const misspelt = { ...EVENT, message: { ...message, date_occured: date_occurred } };
    const [accepted] = await accept([misspelt]);
    expect(accepted?.stored.bytes.toString()).toContain(`"date_occurred":"${date_occurred}"`);
  });

  test('do not send what is meant for their v1 form alone', async () => {
    const [accepted] = await accept([DRAFTS['incident to send']]);
    expect(accepted?.stored.bytes.toString()).not.toContain('pulse_genre');
  });

  test.each([
    ['open', 'svc_unheard_of', true],
    ['strict', 'svc_unheard_of', false],
  ] as const)(
    'follow the dialect %s: the type %s is taken: %s',
    async (dialect, message_type, taken) => {
      const incident = { ...DRAFTS['incident to send'], message_type };
      expect((await errorOf([incident], { dialect })) === undefined).toBe(taken);
    },
  );

  test.each([
    ['open', true],
    ['strict', false],
  ] as const)(
    'of format 1 follow the dialect %s: a new genre is taken: %s',
    async (dialect, taken) => {
      const pulse = { ...ELEMENTS.pulse, pulse_genre: 'unheard_of' };
      expect((await errorOf([pulse], { dialect, format: 1 })) === undefined).toBe(taken);
    },
  );

  test('of format 1 are stored as they are, none with a slot', async () => {
    const elements = Object.values(ELEMENTS);
    const accepted = await accept(elements, rules({ format: 1 }));
    expect(accepted.map(({ stored }) => JSON.parse(stored.bytes.toString()))).toEqual(elements);
    expect(accepted.map(({ stored }) => stored.format)).toEqual([1, 1, 1, 1]);
  });

  test('are taken from the array as it was at the call, with way given after each', async () => {
    const batch: unknown[] = [EVENT, EVENT, EVENT];
    let ways = 0;
    const accepted = await acceptMessages(batch, rules(), async () => {
      ways += 1;
      batch.length = 0;
    });
    expect([accepted.length, ways, batch.length]).toEqual([3, 3, 0]);
  });

  test('may be none', async () => {
    expect(await accept([])).toEqual([]);
  });
});

describe('a batch is refused', () => {
  test.each([
    ['nothing', undefined, 'nothing'],
    ['null', null, 'null'],
    ['one message', EVENT, 'an object'],
    ['a string', '[]', 'a string'],
    ['an iterable', new Set([EVENT]), 'an object'],
  ])('where it is %s instead of an array', async (_what, messages, found) => {
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
    ['is a string', 'security_event', [1], '1: expected an object, found a string'],
    [
      'has no message',
      { message_type: 'test' },
      [1, 'message'],
      'expected an object, found nothing',
    ],
    [
      'is of no type',
      { message: EVENT.message },
      [1, 'message_type'],
      '1.message_type: expected one of',
    ],
    [
      'has an envelope of its own',
      { ...EVENT, retry_count: 0 },
      [1],
      '1: unknown key "retry_count"',
    ],
    [
      'has an empty id',
      { ...EVENT, message_id: '' },
      [1, 'message_id'],
      '1.message_id: expected a non-empty string',
    ],
    [
      'lacks a field deep inside',
      { ...EVENT, message: { ...EVENT.message, ips: [{ ...EVENT.message.ips[0], is_tor: 1 }] } },
      [1, 'message', 'ips', 0, 'is_tor'],
      '1.message.ips.0.is_tor: expected true or false, found a number',
    ],
  ])('where a message %s, reported with its index', async (_what, wrong, path, detail) => {
    const error = await errorOf([EVENT, wrong, EVENT]);
    expect(error).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path,
      message: expect.stringContaining(detail),
    });
  });

  test('where an element does not follow format 1', async () => {
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

  test('where it has holes', async () => {
    const holes = [EVENT];
    holes[2] = EVENT;
    expect(await errorOf(holes)).toMatchObject({ path: [1] });
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

  test.each([
    [99, 99],
    [100, 100],
    [101, 100],
    [5000, 100],
  ])('with %i faults of which at most 100 are reported: %i', async (faults, reported) => {
    const wrong = { ...EVENT, message_id: 0 };
    const error = await errorOf(Array.from({ length: faults }, () => wrong));
    expect(error).toHaveProperty('issues.length', reported);
  });

  test('with at most 100 faults where one message has more', async () => {
    const ips = Array.from({ length: 150 }, () => 0);
    const error = await errorOf([{ ...EVENT, message: { ...EVENT.message, ips } }]);
    expect(error).toHaveProperty('issues.length', 100);
  });

  test('where one message has more faults than a call may have arguments', async () => {
    const ips = Array.from({ length: 130_000 }, () => 0);
    const error = await errorOf([{ ...EVENT, message: { ...EVENT.message, ips } }]);
    expect(error).toMatchObject({ code: 'ERR_INVALID_MESSAGE', path: [0, 'message', 'ips', 0] });
    expect(error).toHaveProperty('issues.length', 100);
  });

  test('where reading a message throws, with the cause', async () => {
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

/** The bytes of a request of its own, with the longest `retry_count`. */
async function measure(message: unknown): Promise<number> {
  const [accepted] = await accept([message]);
  return accepted === undefined
    ? 0
    : requestBytes([{ stored: accepted.stored, sends: 9_999_999_999 }]);
}

describe('the byte budget', () => {
  test('is kept by a message that fills it, and not by one byte less of it', async () => {
    const long = { ...EVENT, message: { ...EVENT.message, humanized_description: '\u00e4' } };
    const bytes = await measure(long);
    expect(bytes).toBe((await measure(EVENT)) - EVENT.message.humanized_description.length + 2);
    expect(await accept([EVENT, long], rules({ maxBodyBytes: await measure(EVENT) }))).toHaveLength(
      2,
    );
    expect(await errorOf([long, EVENT], { maxBodyBytes: bytes })).toMatchObject({
      code: 'ERR_MESSAGE_TOO_LARGE',
      path: [1],
      message: expect.stringContaining(
        `: message 1 makes a request of ${await measure(EVENT)} bytes, maxBodyBytes is ${bytes}. `,
      ),
    });
    expect(await errorOf([long], { maxBodyBytes: bytes - 1 })).toMatchObject({ path: [0] });
  });
});
