import { describe, expect, it } from 'vitest';
import { LogRecord } from '../../src/contract/index.ts';
import { withOwnKeys } from '../../src/contract/own-keys.ts';
import { ABSENT, MODES, setAt } from './cases/case.ts';
import { schemasFor } from './cases/judge.ts';
import { namesOf, RECORDS, SAMPLES } from './samples.ts';

/** What `run` gives while every object inherits `key`; nothing else may run meanwhile. */
function whilePolluted<T>(key: string, value: unknown, run: () => T): T {
  const descriptor = { value, configurable: true, enumerable: true, writable: true };
  Reflect.defineProperty(Object.prototype, key, descriptor);
  try {
    return run();
  } finally {
    Reflect.deleteProperty(Object.prototype, key);
  }
}

const withOwnKeysMeanwhile = <T>(input: T): T =>
  whilePolluted('inherited', 1, () => withOwnKeys(input) as T);

/** What every schema makes of every sample, in all readings. */
const everywhere = () =>
  namesOf(SAMPLES).flatMap((name) =>
    MODES.flatMap((mode) =>
      schemasFor(name, mode).map((schema) => {
        const { data, error } = schema.safeParse(SAMPLES[name]);
        return { name, mode: mode.name, written: JSON.stringify(data), issues: error?.issues };
      }),
    ),
  );

describe('while Object.prototype is polluted', () => {
  it.each([
    // A key that nobody knows; keys of the contract; deviations and optional ones; keys of zod.
    'isAdmin',
    'city',
    'referer',
    'event_name',
    'id',
    'sdk_event_name',
    'date_occured',
    'metadata',
    'v1',
    'message',
    'path',
    'value',
    'issues',
    'error',
    'then',
  ])('with `%s`, every sample is written as it is without', (key) => {
    const clean = everywhere();
    expect(whilePolluted(key, 'polluted', everywhere)).toEqual(clean);
    expect(clean.filter(({ issues }) => issues !== undefined)).toEqual([]);
  });

  it.each([
    ['an inherited value does not stand for a missing field', 'payload', ABSENT, {}],
    ['an own unknown key is refused as ever', 'context.own', 1, 1],
  ])('%s', (_title, field, value, inherited) => {
    const input = setAt(RECORDS.login, field, value);
    const issues = () => LogRecord.safeParse(input).error?.issues.map(({ message }) => message);
    const clean = issues();
    expect(whilePolluted('payload', inherited, issues)).toEqual(clean);
    expect(clean).toHaveLength(1);
  });
});

describe('withOwnKeys', () => {
  it('hands over the input itself where nothing is polluted', () => {
    const input = { a: { b: [{}] } };
    expect(withOwnKeys(input)).toBe(input);
  });

  it.each([[undefined], [null], ['text'], [0], [new Date(0)], [new Map()]])(
    'hands over %o itself, polluted or not',
    (input) => {
      expect(withOwnKeys(input)).toBe(input);
      expect(withOwnKeysMeanwhile(input)).toBe(input);
    },
  );

  it('copies six levels of objects and arrays, and no more', () => {
    const seventh = {};
    const input = { a: [{ b: [{ c: [seventh] }] }] };
    const output = withOwnKeysMeanwhile(input);
    expect(Object.getPrototypeOf(output)).toBe(null);
    expect(Object.getPrototypeOf(output.a[0]?.b[0])).toBe(null);
    expect(output.a[0]?.b[0]?.c).not.toBe(input.a[0]?.b[0]?.c);
    expect(output.a[0]?.b[0]?.c[0]).toBe(seventh);
    expect(JSON.stringify(output)).toBe(JSON.stringify(input));
  });

  it('copies each object once, so that one in itself many times ends', () => {
    const input: unknown[] = [];
    input.push(...Array.from({ length: 300 }, () => input));
    const around = { input };
    const output = withOwnKeysMeanwhile(around);
    expect(output.input).not.toBe(input);
    expect(new Set(output.input)).toEqual(new Set([output.input]));
  });

  it('keeps a key `__proto__` a key', () => {
    const input: unknown = JSON.parse('{"__proto__":{"a":1}}');
    const output = withOwnKeysMeanwhile(input);
    expect(Object.getPrototypeOf(output)).toBe(null);
    expect(JSON.stringify(output)).toBe('{"__proto__":{"a":1}}');
  });
});
