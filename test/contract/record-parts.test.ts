import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contract, EVENT_NAMES } from '../../src/contract/index.ts';
import { jsonTextOf } from '../../src/contract/json-text.ts';
import { recordParts } from '../../src/contract/record-parts.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { inputs } from './cases/arbitrary-inputs.ts';
import { RECORDS } from './samples.ts';

interface Parts {
  readonly context: unknown;
  readonly detected_at: unknown;
  readonly event_name: (typeof EVENT_NAMES)[number];
  readonly payload: unknown;
}

/** Joined where each part has a text. */
function joined(record: unknown, dialect: 'strict' | 'open'): string | undefined {
  const { context, detected_at, event_name, payload } = record as Parts;
  const parts = EVENT_NAMES.includes(event_name) ? recordParts(dialect)(event_name) : undefined;
  const texts = {
    context: parts?.context(context),
    detected_at: parts?.detected_at(detected_at),
    payload: parts?.payload(payload),
  };
  const isWhole = Object.values(texts).every((text) => text !== undefined);
  return isWhole ? parts?.join(texts as never) : undefined;
}

const DIALECTS = ['strict', 'open'] as const;

test.each(DIALECTS.flatMap((dialect) => EVENT_NAMES.map((name) => [dialect, name] as const)))(
  'in the dialect %s each of %s has its parts',
  (dialect, name) => {
    expect(recordParts(dialect)(name)).toBeDefined();
  },
);

test('what a record has under another name has no parts', () => {
  const suffixed = RECORDS['suffixed exploit'].event_name as (typeof EVENT_NAMES)[number];
  expect(recordParts('strict')(suffixed)).toBeUndefined();
  expect(recordParts('strict')('svc.ev0.unknown' as never)).toBeUndefined();
});

const isRecord = (input: unknown): input is Parts =>
  typeof input === 'object' && input !== null && 'event_name' in input;

test('parts that are joined are what the pass over the whole writes', () => {
  let taken = 0;
  fc.assert(
    fc.property(inputs, fc.constantFrom(...DIALECTS), ({ input }, dialect) => {
      if (!isRecord(input)) return;
      const text = joined(input, dialect);
      if (text === undefined) return;
      taken += 1;
      // What is not of the parts is the joiner's own: the version, and that there is no more.
      const { context, detected_at, event_name, payload } = input;
      const event_version = RECORDS.attack.event_version;
      const record = { context, detected_at, event_name, event_version, payload };
      expect(text).toBe(jsonTextOf(contract({ dialect }).LogRecord)(record));
      expect(text).toBe(JSON.stringify(contract({ dialect }).LogRecord.parse(record)));
    }),
    { numRuns: quickOrNightly(500, 5000), seed: 11 },
  );
  expect(taken).toBeGreaterThan(30);
});
