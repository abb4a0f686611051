import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { received } from '../../src/contract/index.ts';
import {
  encodeBody,
  formatTimestamp,
  type Outgoing,
  sharedBytes,
  toStoredV1,
  toStoredV2,
} from '../../src/webhook/encoder.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';
import { anyCharacter } from '../helpers/any-character.ts';

const SENT_AT = '2026-11-21T10:00:01.002+00:00';
const RETRY_COUNTS = [0, 9, 10, 99, 100];

interface Draft {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
}

/** Encodes whole envelopes in D20's key order, for comparison. */
function plainBody(drafts: readonly Draft[], retryCounts: readonly number[]): Buffer {
  return Buffer.from(
    JSON.stringify(
      drafts.map(({ message_id, message_type, message }, index) => ({
        message_id,
        api_version: '2',
        date_created: SENT_AT,
        message_type,
        retry_count: retryCounts[index],
        message,
      })),
    ),
  );
}

function outgoingOf(drafts: readonly Draft[], retryCounts: readonly number[]): Outgoing[] {
  return drafts.map((draft, index) => ({
    stored: toStoredV2(draft),
    retryCount: retryCounts[index] ?? 0,
  }));
}

/** Text with lone surrogates, separators, control characters and special keys. */
const hostileText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom('\ud800', '\udc00x', '\u2028\u2029', '\u0000\u001f\u007f', '"\\/', '\u{1F600}'),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', 'retry_count', '","retry_count":7'),
);

const hostileMessage = fc.object({
  maxDepth: 2,
  maxKeys: 4,
  key: hostileText,
  values: [
    hostileText,
    fc.double(),
    fc.constantFrom(-0, 1e21, 1e-7, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE),
    fc.boolean(),
    fc.constant(null),
  ],
});

const anyDraft = fc.record({
  message_id: hostileText,
  message_type: hostileText,
  message: hostileMessage,
});

const anyRetryCount = fc.oneof(fc.constantFrom(...RETRY_COUNTS), fc.nat());

describe('encodeBody', () => {
  test('returns the same bytes as JSON.stringify of the whole envelopes', () => {
    const anyBatch = fc.array(fc.tuple(anyDraft, anyRetryCount), { maxLength: 5 });
    fc.assert(
      fc.property(anyBatch, (batch) => {
        const drafts = batch.map(([draft]) => draft);
        const retryCounts = batch.map(([, retryCount]) => retryCount);
        const body = encodeBody(outgoingOf(drafts, retryCounts), SENT_AT);
        expect(body.equals(plainBody(drafts, retryCounts))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['longer, as of a year beyond 9999', formatTimestamp(253_402_300_800_000)],
    ['shorter', '2026'],
  ])('returns a body of the right size when a date is %s', (_, date) => {
    const drafts = Object.values(DRAFTS);
    const elements = Object.values(ELEMENTS);
    const outgoing = [
      ...outgoingOf(drafts, []),
      ...elements.map((element) => ({ stored: toStoredV1('id', element), retryCount: 0 })),
    ];
    const expected = encodeBody(outgoing, SENT_AT).toString().replaceAll(SENT_AT, date);
    expect(date).not.toHaveLength(SENT_AT.length);
    expect(encodeBody(outgoing, date).toString()).toBe(expected);
  });

  test('throws rather than return uninitialised bytes', () => {
    const [draft] = Object.values(DRAFTS);
    const counts = [12, 1];
    const outgoing = {
      stored: toStoredV2(draft as Draft),
      get retryCount() {
        return counts.shift() ?? 0;
      },
    };
    expect(() => encodeBody([outgoing], SENT_AT)).toThrow('the size of a request');
  });

  test('writes v1 elements unchanged, since they have no date and count (D45)', () => {
    const elements = Object.values(ELEMENTS);
    const outgoing = elements.map((element) => ({
      stored: toStoredV1('id', element),
      retryCount: 7,
    }));
    const body = encodeBody(outgoing, SENT_AT);
    expect(body.toString()).toBe(JSON.stringify(elements));
    expect(received.WebhookBodyV1.safeParse(JSON.parse(body.toString())).success).toBe(true);
  });
});

describe('toStoredV2', () => {
  test('stores the id, the format and the positions of date and count', () => {
    const { bytes, ...rest } = toStoredV2({ message_id: 'ä', message_type: 'test', message: {} });
    expect(bytes.toString()).toBe(
      '{"message_id":"ä","api_version":"2","date_created":"","message_type":"test",' +
        '"retry_count":,"message":{}}',
    );
    expect(rest).toEqual({ messageId: 'ä', format: 2, dateAt: 53, countAt: 91 });
  });
});

describe('toStoredV1', () => {
  test('stores its handle beside the bytes, not in them', () => {
    expect(toStoredV1('handle', { a: 'ü' })).toEqual({
      messageId: 'handle',
      format: 1,
      bytes: Buffer.from('{"a":"ü"}'),
      dateAt: 0,
      countAt: 0,
    });
  });
});

describe('formatTimestamp', () => {
  test('writes milliseconds and the offset', () => {
    expect(formatTimestamp(1_795_255_201_002)).toBe(SENT_AT);
  });
});

describe('sharedBytes', () => {
  test.each([1, 100])(
    'each text of %i becomes its exact bytes, whatever the others are',
    (count) => {
      const anyTexts = fc.array(fc.string({ unit: anyCharacter, maxLength: 60 }), {
        maxLength: 60,
      });
      fc.assert(
        fc.property(anyTexts, fc.nat({ max: 4 }), (texts, repeats) => {
          const toBytes = sharedBytes(count);
          const long = texts.map((text) => text.repeat(10 ** repeats).slice(0, 20_000));
          const bytes = long.map(toBytes);
          expect(bytes.map((one, index) => one.equals(Buffer.from(long[index] ?? '')))).toEqual(
            texts.map(() => true),
          );
        }),
      );
    },
  );

  test('a lone surrogate is encoded as by Buffer.from, even at the end of a chunk', () => {
    const toBytes = sharedBytes(1000);
    for (let at = 0; at < 1000; at += 1) {
      const text = `${'é'.repeat(at % 97)}\ud800`;
      expect(toBytes(text).equals(Buffer.from(text))).toBe(true);
    }
  });

  test('many small texts share few Buffers, and a large text has its own', () => {
    const toBytes = sharedBytes(1000);
    const memory = new Set(Array.from({ length: 1000 }, () => toBytes('x'.repeat(700)).buffer));
    expect(memory.size).toBeLessThan(14);
    expect(memory.has(toBytes('x'.repeat(20_000)).buffer)).toBe(false);
  });
});
