import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonPiece, JsonSplitter } from '../../src/cli/json-splitter.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const ROOMY = 1_000_000;

/** What comes of bytes that are cut at these places. */
function piecesOf(
  input: string | Buffer,
  { cuts = [], maxValueBytes = ROOMY }: { cuts?: readonly number[]; maxValueBytes?: number } = {},
): JsonPiece[] {
  const bytes = Buffer.from(input);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
    (one, other) => one - other,
  );
  const splitter = new JsonSplitter(maxValueBytes);
  const pieces = places.flatMap((place, at) =>
    splitter.push(bytes.subarray(place, places[at + 1])),
  );
  return [...pieces, ...splitter.end()];
}

/** `line[index] what`: short enough for a table. */
function shown(pieces: readonly JsonPiece[]): string[] {
  return pieces.map((piece) => {
    const place = piece.index === undefined ? `${piece.line}` : `${piece.line}[${piece.index}]`;
    if (piece.kind === 'value') return `${place} ${piece.bytes.toString().trim()}`;
    return piece.kind === 'array' ? `${place} array of ${piece.count}` : `${place} ${piece.kind}`;
  });
}

const everyByte = (input: string | Buffer): number[] =>
  Array.from({ length: Buffer.from(input).length }, (_, at) => at);

const CASES: readonly [string, string, readonly string[]][] = [
  ['nothing', '', []],
  ['blank lines', ' \n\r\n\t', []],
  ['a line', '{"a":1}\n', ['1 {"a":1}']],
  ['a line that is not ended', '{"a":1}', ['1 {"a":1}']],
  ['lines', '{"a":1}\n{"a":2}\n', ['1 {"a":1}', '2 {"a":2}']],
  ['lines of Windows', '{"a":1}\r\n\r\n{"a":2}\r\n', ['1 {"a":1}', '3 {"a":2}']],
  ['lines of plain values', '1\ntrue\n"a"\nnull\n', ['1 1', '2 true', '3 "a"', '4 null']],
  ['a byte order mark', '\ufeff{"a":1}\n', ['1 {"a":1}']],
  ['a second byte order mark, which is trimmed here', '\ufeff\ufeff1\n', ['1 1']],
  ['an array', '[1,2]', ['1[0] 1', '1[1] 2', '1 array of 2']],
  ['an empty array', '[ ]\n', ['1 array of 0']],
  [
    'arrays in lines',
    '[1]\n[2,3]\n',
    ['1[0] 1', '1 array of 1', '2[0] 2', '2[1] 3', '2 array of 2'],
  ],
  [
    'an array over several lines',
    '[\n  {"a": 1},\n  {"a": 2}\n]\n',
    ['2[0] {"a": 1}', '3[1] {"a": 2}', '1 array of 2'],
  ],
  [
    'an array with its commas in front',
    '[{"a":1}\n,{"a":2}\n]',
    ['1[0] {"a":1}', '2[1] {"a":2}', '1 array of 2'],
  ],
  ['an object over several lines', '{\n "a": [\n  1\n ]\n}\n', ['1 {\n "a": [\n  1\n ]\n}']],
  [
    'objects over several lines',
    '{\n "a": 1\n}\n{\n "a": 2\n}\n3\n',
    ['1 {\n "a": 1\n}', '4 {\n "a": 2\n}', '7 3'],
  ],
  [
    'brackets in strings',
    '["]","[","\\"]","\\\\"]',
    ['1[0] "]"', '1[1] "["', '1[2] "\\"]"', '1[3] "\\\\"', '1 array of 4'],
  ],
  [
    'containers in containers',
    '[[1,[2]],{"a":[{}]}]',
    ['1[0] [1,[2]]', '1[1] {"a":[{}]}', '1 array of 2'],
  ],

  ['a line that is cut off', '{"a":1}\n{"a":\n{"a":3}\n', ['1 {"a":1}', '2 {"a":', '3 {"a":3}']],
  ['a first line that is cut off in a string', '{"a":"b,\n{"a":2}\n', ['1 {"a":"b,', '2 {"a":2}']],
  ['a first line that is cut off behind a value', '{"a":1\n{"a":2}\n', ['1 {"a":1', '2 {"a":2}']],
  [
    'an array in lines that is cut off',
    '[1]\n[2,{"a":\n[3]',
    ['1[0] 1', '1 array of 1', '2[0] 2', '2[1] {"a":', '2 not-closed', '3[0] 3', '3 array of 1'],
  ],
  ['an array that is cut off behind a comma', '[1,', ['1[0] 1', '1 not-closed']],
  ['an array of which only the bracket is there', '[', ['1 not-closed']],
  ['an array over lines that is cut off', '[\n1,\n2', ['2[0] 1', '3[1] 2', '1 not-closed']],
  [
    'a string that lacks its closing quote, in one element of many',
    '[\n"a,\n"b",\n"c"\n]',
    ['2[0] "a,\n"b"', '4[1] "c"', '1 array of 2'],
  ],
  ['nothing between commas', '[1,,2]', ['1[0] 1', '1[1] ', '1[2] 2', '1 array of 3']],
  ['a comma at the end', '[1,]', ['1[0] 1', '1[1] ', '1 array of 2']],
  ['a comma alone', '[,]', ['1[0] ', '1[1] ', '1 array of 2']],
  ['elements without a comma', '[1 2]', ['1[0] 1 2', '1 array of 1']],
  ['text behind an array', '[1] 2 3\n4\n', ['1[0] 1', '1 array of 1', '1 text-after', '2 4']],
  ['text behind the first value', '{} {}\n{} {}\n', ['1 {}', '1 text-after', '2 {} {}']],
  ['a bracket that nothing opened', '}\n]\n[}', ['1 }', '2 ]', '3 array of 0']],
  ['a NUL', '\0\n{"a":1}\n', ['1 \0', '2 {"a":1}']],
];

describe('pieces of', () => {
  it.each(CASES)('%s', (_, text, expected) => {
    expect(shown(piecesOf(text))).toEqual(expected);
  });

  it.each(CASES)('%s, byte by byte', (_, text) => {
    expect(piecesOf(text, { cuts: everyByte(text) })).toEqual(piecesOf(text));
  });
});

describe('a byte order mark', () => {
  it.each([
    ['two of its bytes', [0xef, 0xbb]],
    ['two of its bytes and another', [0xef, 0xbb, 0x31, 0x0a]],
    ['one of its bytes', [0xef]],
  ])('is not taken for one where there are only %s', (_, bytes) => {
    const input = Buffer.from(bytes);
    const expected = Buffer.from(bytes.filter((byte) => byte !== 0x0a));
    for (const cuts of [[], everyByte(input)]) {
      expect(piecesOf(input, { cuts })).toEqual([{ kind: 'value', line: 1, bytes: expected }]);
    }
  });
});

describe('a value that is too long', () => {
  const eight = '"234567"';
  const nine = '"2345678"';

  it.each([
    ['in a line', `1\n${eight}\n${nine}\n2`, ['1 1', `2 ${eight}`, '3 too-long', '4 2']],
    ['in the first line', `${nine}\n${eight}`, ['1 too-long', `2 ${eight}`]],
    [
      'in an array',
      `[${eight},${nine},1]`,
      [`1[0] ${eight}`, '1[1] too-long', '1[2] 1', '1 array of 3'],
    ],
    ['over several lines', '{\n"a":\n1234}\n2\n', ['1 too-long', '4 2']],
  ])('is left out %s, and costs no other', (_, text, expected) => {
    const options = { maxValueBytes: 8 };
    expect(shown(piecesOf(text, options))).toEqual(expected);
    expect(shown(piecesOf(text, { ...options, cuts: everyByte(text) }))).toEqual(expected);
  });

  it('may stand in a line that is longer by far', () => {
    const elements = Array.from({ length: 1000 }, (_, at) => at);
    const pieces = piecesOf(JSON.stringify(elements), { maxValueBytes: 3 });
    expect(pieces.filter(({ kind }) => kind === 'value')).toHaveLength(1000);
  });

  it('counts white space between elements for nothing', () => {
    const text = `[${' '.repeat(100)}1,${'\n'.repeat(100)}2]`;
    expect(shown(piecesOf(text, { maxValueBytes: 2 }))).toEqual([
      '1[0] 1',
      '101[1] 2',
      '1 array of 2',
    ]);
  });
});

describe('nesting', () => {
  it('of any depth is counted and not followed', () => {
    const bomb = '['.repeat(200_000);
    expect(shown(piecesOf(`1\n[${bomb}\n2\n`))).toEqual([
      '1 1',
      `2[0] ${bomb}`,
      '2 not-closed',
      '3 2',
    ]);
  });
});

const json = fc.jsonValue({ stringUnit: anyCharacter, maxDepth: 4 });
const cuts = fc.array(fc.nat(), { maxLength: 8 });
const parsedOf = (piece: JsonPiece): unknown =>
  piece.kind === 'value' ? (JSON.parse(piece.bytes.toString()) as unknown) : piece;
/** As JSON gives it back: it knows no negative zero. */
const known = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

describe('whatever the values and wherever the bytes are cut', () => {
  it('lines are given back one by one', () => {
    fc.assert(
      fc.property(
        fc.array(json),
        fc.constantFrom('\n', '\r\n', '\n\n'),
        cuts,
        (values, end, at) => {
          const lines = values.filter((value) => !Array.isArray(value)).map(known);
          const text = lines.map((value) => JSON.stringify(value) + end).join('');
          const expected = lines.map((value, index) => [
            1 + index * (end.length - (end[0] === '\r' ? 1 : 0)),
            value,
          ]);
          const pieces = piecesOf(text, { cuts: at });
          expect(pieces.map((piece) => [piece.line, parsedOf(piece)])).toEqual(expected);
        },
      ),
      { seed: 7 },
    );
  });

  it('elements of an array are given back with their index, however it is indented', () => {
    fc.assert(
      fc.property(fc.array(json), fc.constantFrom(0, 1, 4, '\t'), cuts, (given, indent, at) => {
        const values = given.map(known);
        const pieces = piecesOf(JSON.stringify(values, null, indent), { cuts: at });
        expect(pieces.pop()).toEqual({ kind: 'array', line: 1, count: values.length });
        expect(pieces.map((piece) => [piece.index, parsedOf(piece)])).toEqual(
          values.map((v, i) => [i, v]),
        );
      }),
      { seed: 7 },
    );
  });

  it('values over several lines are given back whole', () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 1 }), cuts, (given, at) => {
        const values = given.map((value) => known({ value }));
        const text = values.map((value) => `${JSON.stringify(value, null, 2)}\n`).join('');
        expect(piecesOf(text, { cuts: at }).map(parsedOf)).toEqual(values);
      }),
      { seed: 7 },
    );
  });

  it('the same pieces come of the same bytes, JSON or not', () => {
    const signs = ['[', ']', '{', '}', '"', '\\', ',', ':', '\n', '\r\n', ' ', '1', '\0', '\ufeff'];
    const bytes = fc
      .array(
        fc.oneof(
          fc.constantFrom(...signs).map((sign) => Buffer.from(sign)),
          fc.uint8Array({ maxLength: 2 }),
        ),
        {
          maxLength: 60,
        },
      )
      .map((parts) => Buffer.concat(parts));
    fc.assert(
      fc.property(bytes, cuts, fc.integer({ min: 1, max: 20 }), (input, at, maxValueBytes) => {
        const whole = piecesOf(input, { maxValueBytes });
        expect(piecesOf(input, { cuts: at, maxValueBytes })).toEqual(whole);
        expect(piecesOf(input, { cuts: everyByte(input), maxValueBytes })).toEqual(whole);
        const lines = input.filter((byte) => byte === 0x0a).length + 1;
        expect(whole.every(({ line }) => line >= 1 && line <= lines)).toBe(true);
        expect(whole.every((p) => p.kind !== 'value' || p.bytes.length <= maxValueBytes)).toBe(
          true,
        );
      }),
      { seed: 7, numRuns: quickOrNightly(500, 20_000) },
    );
  });
});
