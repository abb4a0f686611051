/** How JSON is read from files and pipes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonItem, readJson } from '../../src/cli/input.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Buffer, size = 7): Promise<JsonItem[]> {
  const items: JsonItem[] = [];
  for await (const found of readJson(inChunks(Buffer.from(text as string), size))) {
    items.push(...found);
  }
  return items;
}

/** Values as `line: value`, errors as `line: error`. */
const shown = async (text: string | Buffer): Promise<string[]> =>
  (await read(text)).map((item) =>
    'error' in item ? `${item.line}: ${item.error}` : `${item.line}: ${JSON.stringify(item.value)}`,
  );

describe('lines', () => {
  it.each<[string, string, readonly string[]]>([
    ['one value each', '1\n"é"\n{"a":[]}\n', ['1: 1', '2: "é"', '3: {"a":[]}']],
    ['blank lines and Windows line ends', '\r\n 1 \r\n\t\n2\r\n', ['2: 1', '4: 2']],
    ['a byte order mark', '\uFEFF1\n2\n', ['1: 1', '2: 2']],
    ['nothing', '\n \n', []],
    ['a broken line', '1\n{"a" 2}\n3\n', ['1: 1', '2: not JSON: syntax error (column 6)', '3: 3']],
    ['a broken first line', '{"a" 2}\n3\n', ['1: not JSON: syntax error (column 6)', '2: 3']],
    ['a cut-off line', '1\n{"a":\n3\n', ['1: 1', '2: not JSON: ends too early (column 6)', '3: 3']],
    ['two values on a line', '1 2\n', ['1: not JSON: syntax error (column 3)']],
  ])('are read: %s', async (_, text, expected) => {
    expect(await shown(text)).toEqual(expected);
  });

  // The second is an encoded lone surrogate.
  it.each([[0xff], [0xed, 0xa0, 0x80]])(
    'that are not UTF-8 do not affect others',
    async (...bad) => {
      const bytes = Buffer.from([0x31, 0x0a, 0x22, ...bad, 0x22, 0x0a, 0x32]);
      expect(await shown(bytes)).toEqual(['1: 1', '2: not JSON: not UTF-8', '3: 2']);
    },
  );

  it('are the same however the chunks are cut', async () => {
    const lines = fc.array(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      { minLength: 2 },
    );
    await fc.assert(
      fc.asyncProperty(lines, fc.integer({ min: 1, max: 50 }), async (texts, size) => {
        const items = await read(texts.join('\n'), size);
        expect(items.map((item) => ('value' in item ? item.value : item))).toEqual(
          texts.map((text) => JSON.parse(text) as unknown),
        );
      }),
      { numRuns: quickOrNightly(50, 5000) },
    );
  });
});

describe('a document over several lines', () => {
  it.each<[string, string, readonly string[]]>([
    ['an object', '\n{\n "a": 1\n}\n', ['2: {"a":1}']],
    ['an array with leading commas', '[{"a":1}\n,{"a":2}\n]', ['1: [{"a":1},{"a":2}]']],
    ['a syntax error', '{\n "a": 1,\n "b": x\n}\n', ['3: not JSON: syntax error (column 7)']],
    ['a cut-off end', '[\n 1,\n', ['3: not JSON: ends too early (column 1)']],
    ['an open bracket', '[', ['1: not JSON: ends too early (column 2)']],
    ['an open string', '{"a":"b"', ['1: not JSON: ends too early (column 9)']],
  ])('is one value: %s', async (_, text, expected) => {
    expect(await shown(text)).toEqual(expected);
  });
});

describe('more than 64 MiB', () => {
  const TOO_LONG = 'exceeds 64 MiB: write one value per line (NDJSON)';
  const MEBIBYTE = Buffer.alloc(2 ** 20, ' ');

  async function* blocks(first: string, last: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(first);
    for (let count = 0; count < 64; count += 1) yield MEBIBYTE;
    yield Buffer.from(last);
  }

  it.each([
    [
      'in a line',
      '1\n"',
      '"\n2\n',
      [
        { line: 2, error: TOO_LONG, text: '' },
        { line: 3, value: 2, text: '2' },
      ],
    ],
    ['in a document', '{\n', '\n}\n', [{ line: 1, error: TOO_LONG, text: '' }]],
  ])('%s is an error', async (_, first, last, expected) => {
    const items: JsonItem[] = [];
    for await (const found of readJson(blocks(first, last))) items.push(...found);
    expect(items.slice(-expected.length)).toEqual(expected);
  });
});

describe('the column of a syntax error', () => {
  it.each([
    ['secret', 1],
    ['[] secret', 4],
    ['{"a",', 5],
    ['"a\tb"', 3],
    ['"\\u12g4"', 6],
    ['nul!', 4],
  ])('%j is %i', async (text, column) => {
    const [item] = await read(text);
    expect(item).toEqual({ line: 1, text, error: `not JSON: syntax error (column ${column})` });
  });

  it('is found in any text, and the text before it could still become JSON', async () => {
    const broken = fc.tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('x', '"', ']', '}', ',', ':', '\\'),
    );
    await fc.assert(
      fc.asyncProperty(broken, async ([text, at, character]) => {
        const index = at % (text.length + 1);
        const changed = text.slice(0, index) + character + text.slice(index);
        const [item] = await read(changed);
        if (item === undefined || !('error' in item)) return;
        const column = Number(/column (\d+)/.exec(item.error)?.[1]);
        // A change cannot cause an error before its place.
        expect(column).toBeGreaterThan(index);
      }),
      { numRuns: quickOrNightly(200, 20_000) },
    );
  });

  it('is found in a text of any length and depth', async () => {
    const deep = `${'['.repeat(200_000)}x`;
    expect(await shown(deep)).toEqual(['1: not JSON: syntax error (column 200001)']);
    const long = `"${'a'.repeat(200_000)}${'\\n'.repeat(200_000)}`;
    expect(await shown(long)).toEqual(['1: not JSON: ends too early (column 600002)']);
  });
});
