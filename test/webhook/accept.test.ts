import { describe, expect, test } from 'vitest';
import { type AcceptRules, acceptMessages } from '../../src/webhook/accept.ts';
import { bodyBytes, elementBytes } from '../../src/webhook/encoder.ts';
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

function errorOf(messages: unknown, changes: Partial<AcceptRules> = {}): unknown {
  try {
    acceptMessages(messages, rules(changes));
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('accepted messages', () => {
  test('are stored in order, with their index and their application', () => {
    const accepted = acceptMessages(Object.values(DRAFTS), rules());
    expect(accepted.map(({ index, application }) => [index, application])).toEqual(
      Object.keys(DRAFTS).map((_, index) => [index, 'app-1']),
    );
    expect(accepted.map(({ stored }) => stored.messageId)).toEqual(
      Object.keys(DRAFTS).map(() => 'msg-1'),
    );
  });

  test('are given the ids they lack, one each', () => {
    const { message_id: _, ...draft } = EVENT;
    const accepted = acceptMessages([draft, EVENT, draft], rules());
    expect(accepted.map(({ stored }) => stored.messageId)).toEqual(['new-1', 'msg-1', 'new-2']);
  });

  test('of one id are two messages (D21)', () => {
    expect(acceptMessages([EVENT, EVENT], rules())).toHaveLength(2);
  });

  test('are stored in the canonical spelling, whatever the caller wrote (D27)', () => {
    const { date_occurred, ...message } = EVENT.message;
    const misspelt = { ...EVENT, message: { ...message, date_occured: date_occurred } };
    const [accepted] = acceptMessages([misspelt], rules());
    expect(accepted?.stored.bytes.toString()).toContain(`"date_occurred":"${date_occurred}"`);
  });

  test('do not send what is meant for their v1 form alone', () => {
    const [accepted] = acceptMessages([DRAFTS['incident to send']], rules());
    expect(accepted?.stored.bytes.toString()).not.toContain('pulse_genre');
  });

  test.each([
    ['open', 'svc_unheard_of', true],
    ['strict', 'svc_unheard_of', false],
  ] as const)('follow the dialect %s: the type %s is taken: %s', (dialect, message_type, taken) => {
    const incident = { ...DRAFTS['incident to send'], message_type };
    expect(errorOf([incident], { dialect }) === undefined).toBe(taken);
  });

  test.each([
    ['open', true],
    ['strict', false],
  ] as const)('of format 1 follow the dialect %s: a new genre is taken: %s', (dialect, taken) => {
    const pulse = { ...ELEMENTS.pulse, pulse_genre: 'unheard_of' };
    expect(errorOf([pulse], { dialect, format: 1 }) === undefined).toBe(taken);
  });

  test('of format 1 are stored as they are, none with a slot', () => {
    const elements = Object.values(ELEMENTS);
    const accepted = acceptMessages(elements, rules({ format: 1 }));
    expect(accepted.map(({ stored }) => JSON.parse(stored.bytes.toString()))).toEqual(elements);
    expect(accepted.map(({ stored }) => stored.format)).toEqual([1, 1, 1, 1]);
  });

  test('may be none', () => {
    expect(acceptMessages([], rules())).toEqual([]);
  });
});

describe('a batch is refused', () => {
  test.each([
    ['nothing', undefined, 'nothing'],
    ['null', null, 'null'],
    ['one message', EVENT, 'an object'],
    ['a string', '[]', 'a string'],
    ['an iterable', new Set([EVENT]), 'an object'],
  ])('where it is %s instead of an array', (_what, messages, found) => {
    expect(errorOf(messages)).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [],
      message: expect.stringContaining(`: expected an array of messages, found ${found}. `),
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
  ])('where a message %s, told with its index', (_what, wrong, path, detail) => {
    const error = errorOf([EVENT, wrong, EVENT]);
    expect(error).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path,
      message: expect.stringContaining(detail),
    });
  });

  test('where an element does not follow format 1', () => {
    const { pulse_genre: _, ...pulse } = ELEMENTS.pulse;
    expect(errorOf([ELEMENTS.pulse, pulse], { format: 1 })).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [1, 'pulse_genre'],
    });
    expect(errorOf([EVENT], { format: 1 })).toMatchObject({ path: [0, 'svc_payload_type'] });
    expect(errorOf([ELEMENTS.pulse], { format: 2 })).toMatchObject({ path: [0, 'message_type'] });
  });

  test('where it has holes', () => {
    const holes = [EVENT];
    holes[2] = EVENT;
    expect(errorOf(holes)).toMatchObject({ path: [1] });
  });

  test('with all its faults, in order', () => {
    const wrong = { ...EVENT, message_id: '', message: { ...EVENT.message, ips: 0, event_id: 1 } };
    expect(errorOf([EVENT, wrong, { ...EVENT, a: 1 }])).toMatchObject({
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
  ])('with %i faults of which at most 100 are told: %i', (faults, told) => {
    const wrong = { ...EVENT, message_id: 0 };
    const error = errorOf(Array.from({ length: faults }, () => wrong));
    expect(error).toHaveProperty('issues.length', told);
  });

  test('with at most 100 faults where one message has more', () => {
    const ips = Array.from({ length: 150 }, () => 0);
    const error = errorOf([{ ...EVENT, message: { ...EVENT.message, ips } }]);
    expect(error).toHaveProperty('issues.length', 100);
  });

  test('where reading a message throws, with the cause', () => {
    const cause = new Error('lazy loading failed');
    const trap = {
      ...EVENT,
      get message() {
        throw cause;
      },
    };
    expect(errorOf([EVENT, trap])).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [1],
      cause,
      message: expect.stringContaining(': 1: reading the message threw. '),
    });
  });

  test('without any of its text in the error', () => {
    const secret = 'private text';
    const message = { ...EVENT.message, event_id: [secret], ips: secret, event_url: secret };
    expect(String(errorOf([{ ...EVENT, message }]))).not.toContain(secret);
  });
});

/** The bytes of a request of this message alone. */
function measure(message: unknown): number {
  const [accepted] = acceptMessages([message], rules());
  return accepted === undefined
    ? 0
    : bodyBytes([elementBytes({ stored: accepted.stored, retryCount: 0 })]);
}

describe('the byte budget', () => {
  test('is kept by a message that fills it, and not by one byte less of it', () => {
    const long = { ...EVENT, message: { ...EVENT.message, humanized_description: '\u00e4' } };
    const bytes = measure(long);
    expect(bytes).toBe(measure(EVENT) - EVENT.message.humanized_description.length + 2);
    expect(acceptMessages([EVENT, long], rules({ maxBodyBytes: measure(EVENT) }))).toHaveLength(2);
    expect(errorOf([long, EVENT], { maxBodyBytes: bytes })).toMatchObject({
      code: 'ERR_MESSAGE_TOO_LARGE',
      path: [1],
      message: expect.stringContaining(
        `: message 1 makes a request of ${measure(EVENT)} bytes, maxBodyBytes is ${bytes}. `,
      ),
    });
    expect(errorOf([long], { maxBodyBytes: bytes - 1 })).toMatchObject({ path: [0] });
  });
});
