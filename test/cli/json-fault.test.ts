import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonFault } from '../../src/cli/json-fault.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const shown = (text: string): string => {
  const fault = findJsonFault(text);
  return fault === undefined ? 'none' : `${fault.at}: ${fault.expected}, ${fault.found}`;
};

const CASES: readonly [string, string][] = [
  ['', '0: a value, the end'],
  [' \t\r\n', '4: a value, the end'],
  ['secret', '0: a value, other text'],
  ['[', '1: a value or `]`, the end'],
  ['[}', '1: a value or `]`, `}`'],
  ['[1', '2: `,` or `]`, the end'],
  ['[1}', '2: `,` or `]`, `}`'],
  ['[1,', '3: a value, the end'],
  ['[1,]', '3: a value, `]`'],
  ['{', '1: a key in quotation marks or `}`, the end'],
  ['{1', '1: a key in quotation marks or `}`, other text'],
  ["{'a", "1: a key in quotation marks or `}`, `'`"],
  ['{"a"', '4: `:`, the end'],
  ['{"a",', '4: `:`, `,`'],
  ['{"a":', '5: a value, the end'],
  ['{"a":}', '5: a value, `}`'],
  ['{"a":1', '6: `,` or `}`, the end'],
  ['{"a":1]', '6: `,` or `}`, `]`'],
  ['{"a":1,', '7: a key in quotation marks, the end'],
  ['{"a":1,}', '7: a key in quotation marks, `}`'],
  ['{"a":1 "b"', '7: `,` or `}`, `"`'],
  ['1 2', '2: the end, other text'],
  ['{}}', '2: the end, `}`'],
  ['{},', '2: the end, `,`'],
  ['01', '1: the end, other text'],
  ['1.', '1: the end, other text'],
  ['-', '0: a value, other text'],
  ['+1', '0: a value, other text'],
  ['NaN', '0: a value, other text'],
  ['True', '0: a value, other text'],
  ['"abc', '4: the quotation mark that closes the string of character 1, the end'],
  ['["a\n"]', '3: the quotation mark that closes the string of character 2, the end of the line'],
  ['"a\tb"', '2: an escape in place of a control character, other text'],
  ['"a\\x"', '2: an escape of JSON, `\\`'],
  ['"\\u12g4"', '1: an escape of JSON, `\\`'],
  ['{"a\\', '3: an escape of JSON, `\\`'],
  ['\ufeff1', '0: a value, other text'],
];

describe('the first fault of', () => {
  it.each(CASES)('%j is told', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it('a text of any length and depth is found', () => {
    const deep = '['.repeat(200_000);
    expect(findJsonFault(deep)?.at).toBe(200_000);
    const long = `"${'a'.repeat(200_000)}${'\\n'.repeat(200_000)}`;
    expect(findJsonFault(long)?.at).toBe(600_001);
  });
});

const SIGNS = [
  ...'[ ] { } " : , \\ 0 e . "a" \\n \\u00e9 1.5 -2 1e9 true null nul'.split(' '),
  ...' |\n|\t|\0|\u2028|\ufeff'.split('|'),
];

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('JSON.parse', () => {
  it('refuses a text exactly where there is a fault', () => {
    const signs = fc.constantFrom(...SIGNS);
    const soup = fc.array(signs, { maxLength: 12 }).map((parts) => parts.join(''));
    const changed = fc
      .tuple(fc.json(), fc.nat(), signs, fc.nat({ max: 2 }))
      .map(([text, at, sign, length]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + sign + text.slice(place + length);
      });
    fc.assert(
      fc.property(fc.oneof(soup, changed, fc.json()), (text) => {
        expect(findJsonFault(text) === undefined).toBe(isJson(text));
      }),
      { seed: 7, numRuns: quickOrNightly(500, 5000) },
    );
  });
});
