import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SVC_PAYLOAD_TYPES } from '../../src/contract/index.ts';
import type { SecurityEventError } from '../../src/errors.ts';
import { type ParsedBody, parseBody } from '../../src/receiver/index.ts';
import { sampleMessage, sampleMessageV1 } from '../../src/testing/index.ts';
import { anyText } from '../contract/cases/texts.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const EVENT = sampleMessage('security_event');
const EVENT_V1 = sampleMessageV1('security_event');
const parse = (...elements: unknown[]): ParsedBody => parseBody(JSON.stringify(elements));
const only = (parsed: ParsedBody) => {
  expect(parsed.refused).toEqual([]);
  expect(parsed.messages).toHaveLength(1);
  return parsed.messages[0];
};

describe('a body', () => {
  const read = { index: 0, isKnownType: true, unknown: [] };

  test.each(['security_response', 'injection_sql'] as const)(
    'of a v2 message of type %s is read, with its message_id',
    (type) => {
      const message = sampleMessage(type);
      expect(only(parse(message))).toEqual({ ...read, format: 2, id: message.message_id, message });
    },
  );

  test.each(SVC_PAYLOAD_TYPES)(
    'of a v1 element of type %s is read, with an id that other types and applications do not have',
    (type) => {
      const message = sampleMessageV1(type);
      const id = `${type}/shop-1/${'event_id' in message ? message.event_id : message.id}`;
      expect(only(parse(message))).toEqual({ ...read, format: 1, id, message });
    },
  );

  test('may hold elements of both formats, as bytes', () => {
    const { messages } = parseBody(Buffer.from(JSON.stringify([EVENT, EVENT_V1])));
    expect(messages.map(({ index, format }) => [index, format])).toEqual([
      [0, 2],
      [1, 1],
    ]);
  });

  test('separates valid elements from invalid ones, with the faults', () => {
    const broken = { ...EVENT, retry_count: -1 };
    const brokenV1 = { ...EVENT_V1, event_id: 7 };
    const { messages, refused } = parse(broken, EVENT, 7, null, brokenV1);
    expect(messages.map(({ index }) => index)).toEqual([1]);
    expect(refused.map(({ index, element }) => [index, element])).toEqual([
      [0, broken],
      [2, 7],
      [3, null],
      [4, brokenV1],
    ]);
    expect(refused.map(({ issues }) => issues[0]?.path)).toEqual([
      ['retry_count'],
      [],
      [],
      ['event_id'],
    ]);
  });

  test.each([
    ['no JSON', '[{]'],
    ['an object', JSON.stringify(EVENT)],
    ['an empty array', '[]'],
    ['an array of 1001', JSON.stringify(Array(1001).fill(1))],
    ['not UTF-8', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])],
    ['behind a byte order mark', Buffer.from('\ufeff[1]')],
    ['nested too deep', '['.repeat(200_000)],
  ])('that is %s is refused', (_what, body) => {
    expect(() => parseBody(body)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_BODY', input: body }),
    );
  });

  test('is not quoted in an error', () => {
    expect(() => parseBody('password-7')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('password') }),
    );
  });
});

describe('an unknown word', () => {
  const { message } = EVENT;
  test.each([
    [['message_type'], { ...EVENT, message_type: 'quantum_leak', message: { anything: 1 } }],
    [['event_category'], { ...EVENT, message: { ...message, event_category: 'quantum' } }],
    [['event_kind'], { ...EVENT, message: { ...message, event_kind: 'quantum' } }],
    [
      ['event_category', 'event_kind'],
      { ...EVENT_V1, event_category: 'quantum', event_kind: 'leak' },
    ],
    [['pulse_genre'], { ...sampleMessageV1('pulse'), pulse_genre: 'quantum' }],
    [[], { ...sampleMessage('injection_sql'), message_type: 'injection_quantum' }],
    [[], { ...sampleMessageV1('test'), event_category: 'test', event_kind: 'test_kind' }],
  ])('is stored, and listed as %j', (unknown, element) => {
    expect(only(parse(element))).toMatchObject({
      isKnownType: unknown[0] !== 'message_type',
      unknown,
      message: element,
    });
  });
});

test('reads a message without an id', () => {
  expect(only(parse({ ...EVENT, message_id: null }))).toMatchObject({ id: null });
  const { message_id: id, ...rest } = sampleMessage('security_response');
  expect(only(parse({ ...rest, id }))).toMatchObject({ id });
});

test.each([
  { ...EVENT_V1, event_id: '' },
  { ...sampleMessageV1('pulse'), id: '' },
])('treats an empty id of format 1 as none: %#', (element) => {
  expect(only(parse(element))).toMatchObject({ id: null, message: element });
});

const anyBody = fc.oneof(
  anyText,
  fc.uint8Array(),
  fc.json(),
  fc.array(fc.jsonValue()).map((value) => JSON.stringify(value)),
  // Nearly valid: one value is replaced.
  fc
    .tuple(fc.constantFrom<object>(EVENT, EVENT_V1), fc.nat(12), fc.jsonValue())
    .map(([element, nth, value]) => {
      const key = Object.keys(element)[nth % Object.keys(element).length] as string;
      return JSON.stringify([{ ...element, [key]: value }]);
    }),
);

function outcomeOf(body: string | Uint8Array): string {
  let parsed: ParsedBody;
  try {
    parsed = parseBody(body);
  } catch (error) {
    return (error as SecurityEventError).code;
  }
  const indices = [...parsed.messages, ...parsed.refused].map(({ index }) => index);
  expect(indices.toSorted((one, other) => one - other)).toEqual([...indices.keys()]);
  return parsed.refused.length === 0 ? 'read' : 'refused';
}

test('reads any body, or refuses it with ERR_INVALID_BODY', () => {
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(anyBody, (body) => {
      outcomes.add(outcomeOf(body));
    }),
    { numRuns: quickOrNightly(2000, 100_000) },
  );
  expect([...outcomes].toSorted()).toEqual(['ERR_INVALID_BODY', 'read', 'refused']);
}, 300_000);
