import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonLine } from '../../src/cli/json-line.ts';
import { anyText } from '../contract/cases/texts.ts';

it('is one line of JSON with the same value, and nothing that a terminal obeys', () => {
  const property = fc.property(fc.jsonValue(), anyText, (value, text) => {
    const line = jsonLine({ value, text });
    expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify({ value, text })));
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u200B-\u200F\u2028-\u202E\u2066-\u2069]/u);
  });
  fc.assert(property, { seed: 1 });
});

it('escapes what turns text around', () => {
  expect(jsonLine('a\u202Eb\u009B\uFEFF')).toBe('"a\\u202eb\\u009b\\ufeff"\n');
});
