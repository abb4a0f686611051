import { describe, expect, it } from 'vitest';
import { KeyHeads } from '../../src/contract/key-heads.ts';

describe('the heads of keys', () => {
  it('are the key as JSON with what stands before it, kept or not', () => {
    const heads = new KeyHeads();
    const keys = Array.from({ length: 300 }, (_, index) => `key ${index}`);
    keys.push('', '"', '\n', '\ud800', '__proto__', 'constructor', 'k'.repeat(40), 'k'.repeat(41));
    for (const key of [...keys, ...keys.toReversed()]) {
      const text = JSON.stringify(key);
      expect(heads.of(key)).toEqual({ first: `{${text}:`, next: `,${text}:` });
    }
  });

  it('are kept of 200 keys of 40 characters, and of no more and no longer', () => {
    const heads = new KeyHeads();
    const isKept = (key: string): boolean => {
      const head = heads.of(key);
      return heads.of(key) === head;
    };
    expect(isKept('k'.repeat(41))).toBe(false);
    expect(isKept('k'.repeat(40))).toBe(true);
    for (let index = 1; index < 200; index += 1) expect(isKept(`${index}`)).toBe(true);
    expect(isKept('200')).toBe(false);
    expect(isKept('199')).toBe(true);
  });
});
