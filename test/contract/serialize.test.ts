import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { contract } from '../../src/contract/index.ts';
import { freeFormObjectOrArray, quote, quoteInLine } from '../../src/contract/json-fragments.ts';
import { copyJson, MAX_JSON_CHARACTERS } from '../../src/contract/json-value.ts';
import {
  type EventName,
  serializeContext,
  serializeLogRecord,
  serializeWithContextJson,
} from '../../src/contract/serialize.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { inputs } from './cases/arbitrary-inputs.ts';
import { MODES } from './cases/case.ts';
import { schemasFor, serialized, serializerFor } from './cases/judge.ts';
import { anyLongText, anyText } from './cases/texts.ts';
import { DRAFTS, namesOf, RECORDS, SAMPLES } from './samples.ts';

const STRICT = contract();

/** Samples with a rule that is more than their shape. */
const LEFT_TO_THE_SCHEMA: readonly string[] = ['suffixed exploit'];

const serializeRecord = (value: unknown): string | undefined => serializeLogRecord(value, 'strict');

const hidden = <T extends object>(value: T, key: keyof T): T =>
  Object.defineProperty({ ...value }, key, { enumerable: false });

const keyOf = (length: number): object => ({ ['k'.repeat(length)]: 1 });

/** An array that has the keys of an object. */
const asArray = (value: object, prototype: object | null): object =>
  Object.assign(Object.setPrototypeOf([], prototype) as object, value);

/** A record with free-form options. */
const withOptions = (options: unknown) => ({
  ...RECORDS['custom event'],
  payload: { ...RECORDS['custom event'].payload, options },
});

describe('a serialiser', () => {
  it('serialises every sample that needs no full validation', () => {
    const names = namesOf(SAMPLES).filter((name) => name in RECORDS || name in DRAFTS);
    const texts = names.map((name) => {
      const [schema] = schemasFor(name, MODES[0]) as [z.ZodType];
      const text = serialized(schema, schema.parse(SAMPLES[name]));
      const due = LEFT_TO_THE_SCHEMA.includes(name) ? undefined : text;
      return { name, text: serializerFor(schema)?.(SAMPLES[name]), due };
    });
    expect(texts.length).toBeGreaterThan(8);
    expect(texts.filter(({ text, due }) => text !== due)).toEqual([]);
  });

  it('writes the same as zod and JSON.stringify for values near the contract', () => {
    let taken = 0;
    fc.assert(
      fc.property(inputs, ({ on, input }) => {
        for (const schema of MODES.flatMap((mode) => schemasFor(on, mode))) {
          const text = serializerFor(schema)?.(input);
          if (text === undefined) continue;
          taken += 1;
          expect(text).toBe(serialized(schema, schema.parse(input)));
        }
      }),
      { numRuns: quickOrNightly(300, 10_000), seed: 7 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  it('writes any free-form JSON as zod and JSON.stringify do', () => {
    fc.assert(
      fc.property(
        fc.dictionary(anyText, fc.oneof(fc.jsonValue(), fc.double(), anyLongText)),
        (options) => {
          const result = STRICT.LogRecord.safeParse(withOptions(options));
          const due = result.success ? serialized(STRICT.LogRecord, result.data) : undefined;
          expect(serializeRecord(withOptions(options))).toBe(due);
        },
      ),
      { numRuns: quickOrNightly(200, 5000), seed: 7 },
    );
  });

  it.each([
    ['a class instance', Object.assign(Object.create(new URL('urn:a')) as object, RECORDS.attack)],
    ['an unknown key beside a hidden one', hidden({ ...RECORDS.attack, more: 1 }, 'context')],
    [
      'a hidden key in a nested object, with an unknown one',
      { ...RECORDS.attack, payload: hidden({ ruleset: 'xss', more: 1 }, 'ruleset') },
    ],
    [
      'an array without a prototype that has the keys of an object',
      { ...RECORDS.attack, context: asArray(RECORDS.attack.context, null) },
    ],
    [
      'an array with the prototype of objects',
      { ...RECORDS.attack, context: asArray(RECORDS.attack.context, Object.prototype) },
    ],
  ])('leaves %s to the schema, which refuses it', (_, value) => {
    expect(serializeRecord(value)).toBe(undefined);
    expect(STRICT.LogRecord.safeParse(value).success).toBe(false);
  });

  it.each([500, 501])('returns undefined above 500 levels: %i', (levels) => {
    let options: object = {};
    for (let level = 1; level < levels; level += 1) options = { a: options };
    const result = STRICT.LogRecord.safeParse(withOptions(options));
    expect(result.success).toBe(levels === 500);
    expect(serializeRecord(withOptions(options))).toBe(
      result.success ? JSON.stringify(result.data) : undefined,
    );
  });

  it('reads each value once', () => {
    const reads: string[] = [];
    const counted = <T extends object>(value: T): T =>
      new Proxy(value, {
        get: (target, key, self) => {
          reads.push(String(key));
          const found: unknown = Reflect.get(target, key, self);
          return typeof found === 'object' && found !== null ? counted(found) : found;
        },
      });
    const text = serializeRecord(counted(structuredClone(RECORDS.login)));
    expect(text).toBe(JSON.stringify(RECORDS.login));
    expect(reads.filter((key) => key === 'event_name')).toHaveLength(1);
    expect(reads.filter((key) => key === 'success')).toHaveLength(1);
  });

  it('reads a hidden key as the schema does', () => {
    const value = hidden({ ...RECORDS.attack }, 'context');
    expect(serializeRecord(value)).toBe(JSON.stringify(STRICT.LogRecord.parse(value)));
  });

  it.each([
    [MAX_JSON_CHARACTERS, true],
    [MAX_JSON_CHARACTERS + 1, false],
  ])('accepts keys of %i characters: %s, also without a text after them', (characters, isTaken) => {
    // Each is written once for each reference.
    const full = Array<object>(MAX_JSON_CHARACTERS / 2000 - 1).fill(keyOf(2000));
    const value = [...full, keyOf(characters - full.length * 2000)];
    expect(copyJson(value).ok).toBe(isTaken);
    expect(freeFormObjectOrArray(value, quote) !== undefined).toBe(isTaken);
  });
});

describe('a record whose context is serialised once', () => {
  it('equals the text of the whole record for inputs near the contract', () => {
    let taken = 0;
    fc.assert(
      fc.property(
        inputs.filter(({ on }) => on in RECORDS),
        ({ input }) => {
          for (const dialect of ['strict', 'open'] as const) {
            const whole = serializeLogRecord(input, dialect);
            if (whole === undefined) continue;
            const { context, ...rest } = input as (typeof RECORDS)['attack'];
            const contextText = serializeContext(context, dialect) as string;
            const isOurVersion = rest.event_version === '1.0.0';
            const around = { ...rest, event_name: rest.event_name as EventName };
            const text = serializeWithContextJson(contextText, around, dialect);
            // An incident's time may be null, which no reporter writes.
            if (!isOurVersion || (rest.detected_at as unknown) === null) continue;
            taken += 1;
            expect(text).toBe(whole);
          }
        },
      ),
      { numRuns: quickOrNightly(300, 5000), seed: 9 },
    );
    expect(taken).toBeGreaterThan(50);
  });
});

describe('a string', () => {
  it('is quoted as JSON.stringify does', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(quote(text)).toBe(JSON.stringify(text));
      }),
    );
  });

  it.each([
    ['U+007F', '\u007f', '\\u007f'],
    ['U+0085', '\u0085', '\\u0085'],
    ['U+009F', '\u009f', '\\u009f'],
    ['U+2028', '\u2028', '\\u2028'],
    ['U+2029', '\u2029', '\\u2029'],
    ['a right-to-left override', '\u202e', '\\u202e'],
    ['an isolate', '\u2066', '\\u2066'],
    ['a right-to-left mark', '\u200f', '\\u200f'],
    ['an Arabic letter mark', '\u061c', '\\u061c'],
  ])('has %s escaped in a log line only (D84)', (_, character, escaped) => {
    const text = `a${character}b`;
    expect(quoteInLine(text)).toBe(`"a${escaped}b"`);
    expect(JSON.parse(quoteInLine(text))).toBe(text);
    expect(quote(text)).toBe(`"${text}"`);
    expect(serializeRecord(withOptions({ [text]: text }))).toContain(
      `{"a${escaped}b":"a${escaped}b"}`,
    );
  });

  it('keeps all other text as UTF-8 in a log line', () => {
    const text = '\u00e4\u00a0\u4e2d \u{1f600} \u200d';
    expect(quoteInLine(text)).toBe(`"${text}"`);
  });
});
