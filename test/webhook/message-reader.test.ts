import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contract, type Dialect, messageToSend } from '../../src/contract/index.ts';
import {
  applicationOf,
  messageFromZod,
  messageReader,
  readerWith,
  type ValidatedMessage,
} from '../../src/webhook/read-messages.ts';
import { inputs } from '../contract/cases/arbitrary-inputs.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { whilePolluted } from '../hostile-objects/pollution.ts';

const DIALECTS: readonly Dialect[] = ['strict', 'open'];

/** Returns what is read in one pass, or undefined if full validation is needed. */
const quickReader =
  (dialect: Dialect) =>
  (given: unknown): ValidatedMessage | undefined => {
    const failed = { success: false, error: { issues: [] } } as const;
    const parsed = readerWith(dialect, () => failed).safeParse(given);
    return parsed.success ? parsed.data : undefined;
  };

const QUICK = { strict: quickReader('strict'), open: quickReader('open') } as const;

/** Reads a message with the schema alone. */
function readBySchema(given: unknown, dialect: Dialect): ValidatedMessage | undefined {
  const parsed = messageToSend(dialect).safeParse(given);
  return parsed.success ? messageFromZod(parsed.data, given) : undefined;
}

const EVENT = DRAFTS['event to send'];
const INCIDENT = DRAFTS['incident to send'];
const RESPONSE = DRAFTS['response to send'];

describe('the message reader', () => {
  test.each(Object.entries(DRAFTS))('reads in one pass: %s', (_, draft) => {
    const expected = readBySchema(draft, 'strict');
    expect(expected).toMatchObject({ application: 'shop-1', messageType: draft.message_type });
    expect(QUICK.strict(draft)).toEqual(expected);
  });

  test('agrees with the schema and JSON.stringify for any message near the contract', () => {
    let readCount = 0;
    fc.assert(
      fc.property(
        inputs.filter(({ on }) => on in DRAFTS),
        ({ input }) => {
          for (const dialect of DIALECTS) {
            const quick = QUICK[dialect](input);
            if (quick === undefined) continue;
            readCount += 1;
            expect(quick).toEqual(readBySchema(input, dialect));
          }
        },
      ),
      { numRuns: quickOrNightly(150, 5000), seed: 8 },
    );
    expect(readCount).toBeGreaterThan(100);
  });

  test.each([
    ['no id', { ...EVENT, message_id: undefined }, { messageId: undefined }],
    ['a playbook', RESPONSE, { playbook: RESPONSE.message.playbook.name }],
    ['hints for its v1 form', INCIDENT, { v1: JSON.stringify(INCIDENT.v1) }],
    [
      'an id and a type that have to be escaped',
      { ...INCIDENT, message_type: 'ein "Vorfall"\n', message_id: '\u00e4"\\' },
      { messageType: 'ein "Vorfall"\n', messageId: '\u00e4"\\' },
    ],
  ] as const)('reads a message with %s', (_, draft, fields) => {
    expect(QUICK.open(draft)).toMatchObject(fields);
    expect(QUICK.open(draft)).toEqual(readBySchema(draft, 'open'));
  });

  test('reads each getter once, so that the result is what was validated', () => {
    let reads = 0;
    const counted = (key: string): PropertyDescriptor => ({
      enumerable: true,
      get: () => {
        reads += 1;
        return `${key} ${reads}`;
      },
    });
    const message = Object.defineProperty({ ...EVENT.message }, 'application_id', counted('app'));
    const draft = Object.defineProperty({ ...EVENT, message }, 'message_id', counted('id'));
    const read = QUICK.strict(draft);
    expect(read).toMatchObject({ messageId: 'id 1', application: 'app 2' });
    expect(JSON.parse(read?.message ?? '')).toMatchObject({ application_id: 'app 2' });
  });

  test.each([
    ['message_id', 'everybody'],
    ['v1', { blocked: true }],
  ])('ignores a %s inherited from Object.prototype, but reads one of its class', (key, value) => {
    const { message_id: _id, v1: _hints, ...draft } = INCIDENT;
    const instance = Object.assign(Object.create({ [key]: value }) as object, draft);
    const kept = key === 'v1' ? { v1: JSON.stringify(value) } : { messageId: value };
    expect(messageReader('strict').safeParse(instance)).toMatchObject({ data: kept });
    Reflect.defineProperty(Object.prototype, key, { value, writable: true, configurable: true });
    let read: unknown;
    try {
      read = messageReader('strict').safeParse(draft);
    } finally {
      Reflect.deleteProperty(Object.prototype, key);
    }
    expect(read).toEqual(messageReader('strict').safeParse(draft));
    expect(read).toMatchObject({ data: { messageId: undefined, v1: undefined } });
  });
});

describe('applicationOf', () => {
  test.each(Object.entries(ELEMENTS))('finds it in the element %s', (_name, element) => {
    expect(applicationOf(contract().WebhookMessageV1.parse(element))).toBe('shop-1');
  });

  test('is undefined for a v1 test without an application', () => {
    const { application_id: _, ...element } = ELEMENTS['test (v1)'];
    expect(applicationOf(contract().WebhookMessageV1.parse(element))).toBeUndefined();
  });

  test('ignores ids inherited from a polluted prototype', () => {
    const { application_id: _, ...element } = ELEMENTS['test (v1)'];
    const contents = [DRAFTS['response to send'].message, element];
    const pollution = { names: ['application_id'], value: 'all' };
    const found = whilePolluted(pollution, () => contents.map(applicationOf));
    expect(found).toEqual(['shop-1', undefined]);
  });
});
