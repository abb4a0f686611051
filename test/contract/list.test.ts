import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { contract } from '../../src/contract/index.ts';
import { list, MAX_ISSUES, TOO_MANY_ISSUES } from '../../src/contract/list.ts';
import { MESSAGES, RECORDS } from './samples.ts';

const element = z.strictObject({ a: z.string(), b: z.array(z.number()).default([]) });
const [ours, theirs] = [list(element), z.array(element)];

const resultOf = (result: z.ZodSafeParseResult<unknown>): unknown =>
  result.success ? result.data : result.error.issues;

/** What its places and messages are, in short. */
const ends = (issues: readonly z.core.$ZodIssue[] = []): unknown[] => [
  issues.length,
  issues.at(-1)?.path,
  issues.at(-1)?.message,
];

describe('a list', () => {
  test('equals an array of zod up to the limit of issues', async () => {
    const good = fc.record({ a: fc.string(), b: fc.array(fc.integer()) }, { requiredKeys: ['a'] });
    const inputs = fc.oneof(fc.array(fc.oneof(good, fc.jsonValue())), fc.anything());
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        expect(resultOf(ours.safeParse(input))).toEqual(resultOf(theirs.safeParse(input)));
        const later = await ours.safeParseAsync(input);
        expect(resultOf(later)).toEqual(resultOf(theirs.safeParse(input)));
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
    [MAX_ISSUES - 1, [MAX_ISSUES - 1, [MAX_ISSUES - 2], 'wrong']],
    [MAX_ISSUES, [MAX_ISSUES + 1, [], TOO_MANY_ISSUES]],
    [520_000, [MAX_ISSUES + 1, [], TOO_MANY_ISSUES]],
  ])('of %d wrong values reports them up to the limit', (faults, expected) => {
    const input = Array<number>(faults).fill(1);
    expect(ends(list(z.string('wrong')).safeParse(input).error?.issues)).toEqual(expected);
  });

  test('in a list shares the limit of issues', () => {
    const inner = Array<number>(600).fill(1);
    const { error } = list(list(z.string())).safeParse(Array(1000).fill(inner));
    expect(ends(error?.issues)).toEqual([1201, [], TOO_MANY_ISSUES]);
  });
});

test('every list of a message, and the identifiers of a record, have a limit of issues', () => {
  const { WebhookMessageV2, LogRecord } = contract();
  const message = structuredClone(MESSAGES.security_response) as {
    message: { properties: { ips: unknown } };
  };
  message.message.properties.ips = Array(520_000).fill(1);
  const faults = WebhookMessageV2.safeParse(message).error?.issues;
  expect(ends(faults)).toEqual([MAX_ISSUES + 1, ['message', 'properties', 'ips'], TOO_MANY_ISSUES]);
  const record = structuredClone(RECORDS.attack) as {
    context: { actor: { identifiers: unknown } };
  };
  record.context.actor.identifiers = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, index) => [index, []]),
  );
  const place = ['context', 'actor', 'identifiers'];
  expect(ends(LogRecord.safeParse(record).error?.issues)).toEqual([1001, place, TOO_MANY_ISSUES]);
});
