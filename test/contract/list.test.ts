import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { contract } from '../../src/contract/index.ts';
import { AND_MORE, list, MAX_FAULTS } from '../../src/contract/list.ts';
import { MESSAGES, RECORDS } from './samples.ts';

const element = z.strictObject({ a: z.string(), b: z.array(z.number()).default([]) });
const [ours, theirs] = [list(element), z.array(element)];

const told = (result: z.ZodSafeParseResult<unknown>): unknown =>
  result.success ? result.data : result.error.issues;

/** What its places and messages are, in short. */
const ends = (issues: readonly z.core.$ZodIssue[] = []): unknown[] => [
  issues.length,
  issues.at(-1)?.path,
  issues.at(-1)?.message,
];

describe('a list', () => {
  test('is what an array of zod is, with as few faults', async () => {
    const good = fc.record({ a: fc.string(), b: fc.array(fc.integer()) }, { requiredKeys: ['a'] });
    const inputs = fc.oneof(fc.array(fc.oneof(good, fc.jsonValue())), fc.anything());
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        expect(told(ours.safeParse(input))).toEqual(told(theirs.safeParse(input)));
        const later = await ours.safeParseAsync(input);
        expect(told(later)).toEqual(told(theirs.safeParse(input)));
      }),
      { seed: 3 },
    );
    expect(z.toJSONSchema(ours, { io: 'input' })).toEqual(z.toJSONSchema(theirs, { io: 'input' }));
    expect([1, 2].map((min) => ours.min(min).safeParse([{ a: '' }]).success)).toEqual([
      true,
      false,
    ]);
  });

  test.each([
    [MAX_FAULTS - 1, [MAX_FAULTS - 1, [MAX_FAULTS - 2], 'wrong']],
    [MAX_FAULTS, [MAX_FAULTS + 1, [], AND_MORE]],
    [520_000, [MAX_FAULTS + 1, [], AND_MORE]],
  ])('of %d faults tells so many', (faults, expected) => {
    const input = Array<number>(faults).fill(1);
    expect(ends(list(z.string('wrong')).safeParse(input).error?.issues)).toEqual(expected);
  });

  test('in a list has no more faults either', () => {
    const inner = Array<number>(600).fill(1);
    const { error } = list(list(z.string())).safeParse(Array(1000).fill(inner));
    expect(ends(error?.issues)).toEqual([1201, [], AND_MORE]);
  });
});

test('no part of a message, and no identifiers of a record, have faults without end', () => {
  const { WebhookMessageV2, LogRecord } = contract();
  const message = structuredClone(MESSAGES.security_response) as {
    message: { properties: { ips: unknown } };
  };
  message.message.properties.ips = Array(520_000).fill(1);
  const faults = WebhookMessageV2.safeParse(message).error?.issues;
  expect(ends(faults)).toEqual([MAX_FAULTS + 1, ['message', 'properties', 'ips'], AND_MORE]);
  const record = structuredClone(RECORDS.attack) as {
    context: { actor: { identifiers: unknown } };
  };
  record.context.actor.identifiers = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, index) => [index, []]),
  );
  const place = ['context', 'actor', 'identifiers'];
  expect(ends(LogRecord.safeParse(record).error?.issues)).toEqual([1001, place, AND_MORE]);
});
