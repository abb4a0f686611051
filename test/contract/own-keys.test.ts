import { describe, expect, it } from 'vitest';
import { withOwnKeys } from '../../src/contract/own-keys.ts';
import { whilePolluted } from '../hostile-objects/pollution.ts';

const withOwnKeysMeanwhile = <T>(input: T): T =>
  whilePolluted({ names: ['inherited'], value: 1 }, () => withOwnKeys(input) as T);

describe('withOwnKeys', () => {
  it('returns the input itself without pollution', () => {
    const input = { a: { b: [{}] } };
    expect(withOwnKeys(input)).toBe(input);
  });

  it.each([[undefined], [null], ['text'], [0], [new Date(0)], [new Map()]])(
    'returns %o itself, with or without pollution',
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

  it('copies each object once, also one that contains itself many times', () => {
    const input: unknown[] = [];
    input.push(...Array.from({ length: 300 }, () => input));
    const around = { input };
    const output = withOwnKeysMeanwhile(around);
    expect(output.input).not.toBe(input);
    expect(new Set(output.input)).toEqual(new Set([output.input]));
  });

  it('keeps a key `__proto__` as a key', () => {
    const input: unknown = JSON.parse('{"__proto__":{"a":1}}');
    const output = withOwnKeysMeanwhile(input);
    expect(Object.getPrototypeOf(output)).toBe(null);
    expect(JSON.stringify(output)).toBe('{"__proto__":{"a":1}}');
  });
});
