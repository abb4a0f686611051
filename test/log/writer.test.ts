import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { parseLogLine } from '../../src/contract/index.ts';
import { SecurityEventError } from '../../src/errors.ts';
import { createLogWriter, RecordWriter } from '../../src/log/writer.ts';
import { type LogWriterOptions, settingsOf } from '../../src/log/writer-options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { customRecord, smallRecord, thrownBy } from '../helpers/log-records.ts';

/** A destination that keeps its lines. */
function memory() {
  const lines: string[] = [];
  return { lines, write: (line: string): number => lines.push(line) };
}

/** A writer to memory. */
function writerTo(options: LogWriterOptions<'strict' | 'open'> = {}) {
  const { lines, write } = memory();
  return { lines, writer: createLogWriter({ destination: { write }, ...options }) };
}

const unchecked = (value: unknown): ReturnType<typeof smallRecord> => value as never;

describe('a line', () => {
  test('is the record and nothing else, in the order of the contract, with one line feed', () => {
    const { lines, writer } = writerTo();
    writer.write(smallRecord());
    expect(lines).toEqual([
      '{"context":{"service":{"env":"production","name":"shop","svc_id":"svc-1"}},' +
        '"detected_at":"2026-11-21T10:00:00.000Z","event_name":"svc.ev0.threat.attack",' +
        '"event_version":"1.0.0","payload":{"ruleset":"sql_injection"}}\n',
    ]);
  });

  test('is read back as the record it was made of', () => {
    const { lines, writer } = writerTo({ platform: () => ({ trace_id: 'abc' }) });
    writer.write(smallRecord());
    expect(parseLogLine(lines[0] ?? '')).toEqual({ ...smallRecord(), trace_id: 'abc' });
  });

  test('holds the canonical form of what the contract tolerates', () => {
    const { lines, writer } = writerTo();
    writer.write({
      ...customRecord({ plan: 'gold' }),
      payload: { sdk_event_name: 'checkout', options: {} },
    });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      payload: { event_name: 'checkout', options: {}, sdk_event_name: 'checkout' },
    });
  });

  test('holds the options whatever they are, on one line', () => {
    const { lines, writer } = writerTo();
    // Any code unit, lone surrogates included.
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const key = fc.string({ unit, maxLength: 20 });
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(fc.dictionary(key, fc.oneof(key, value), { maxKeys: 5 }), (options) => {
        writer.write(customRecord(options));
        const line = lines.pop() ?? '';
        expect(line.indexOf('\n')).toBe(line.length - 1);
        const { payload } = JSON.parse(line) as { payload: { options: unknown } };
        // JSON has no negative zero.
        expect(payload.options).toEqual(JSON.parse(JSON.stringify(options)));
      }),
    );
  });

  test.each([
    ['a lone high surrogate', '\ud800', '\\ud800'],
    ['a lone low surrogate within text', 'a\udc00b', 'a\\udc00b'],
    ['a surrogate pair', '😀', '😀'],
    ['line separators, escaped', '\u2028\u2029\u0085', '\\u2028\\u2029\\u0085'],
    ['bidirectional controls, escaped', '\u202e', '\\u202e'],
    ['line feeds and quotes', '\n\r"\\', '\\n\\r\\"\\\\'],
    ['a NUL', '\0', '\\u0000'],
  ])('keeps %s in UTF-8, at the top level and below', (_name, text, written) => {
    const { lines, writer } = writerTo({ validate: false });
    writer.write(unchecked({ top: text, nested: { text } }));
    expect(lines).toEqual([`{"top":"${written}","nested":{"text":"${written}"}}\n`]);
    expect(JSON.parse(Buffer.from(lines[0] ?? '').toString())).toEqual({
      top: text,
      nested: { text },
    });
  });

  test('keeps a __proto__ key of free-form fields as data', () => {
    const { lines, writer } = writerTo();
    const text = '{"__proto__":{"polluted":true},"constructor":1}';
    writer.write(customRecord(JSON.parse(text) as Record<string, unknown>));
    expect(lines[0]).toContain(`"options":${text}`);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('is written from a frozen record, which stays as it was', () => {
    const { lines, writer } = writerTo({ platform: () => ({ trace_id: 'abc' }) });
    const record = Object.freeze(customRecord(Object.freeze({ list: Object.freeze([1, 2]) })));
    const before = structuredClone(record);
    writer.write(record);
    expect(record).toEqual(before);
    expect(lines).toHaveLength(1);
  });

  test('does not see what is changed after write returned', () => {
    const { lines, writer } = writerTo();
    const options = { list: [1] };
    const record = customRecord(options);
    writer.write(record);
    options.list.push(2);
    expect(lines[0]).toContain('"list":[1]');
  });
});

describe('keys that pino treats specially', () => {
  test.each([
    { err: { message: 'not a message', stack: 'x' } },
    { error: 'x', msg: 'mine', level: 30, time: 1, pid: 2, hostname: 'h', name: 'n', v: 1 },
    { req: { method: 'GET' }, res: {} },
    { method: 'GET', headers: { a: 1 }, socket: {} },
  ])('are written as they stand: %o', (attributes) => {
    const { lines, writer } = writerTo({ platform: () => attributes });
    writer.write(smallRecord());
    expect(JSON.parse(lines[0] ?? '')).toEqual({ ...smallRecord(), ...attributes });
    expect(lines[0]?.match(/"msg":/g)?.length ?? 0).toBe('msg' in attributes ? 1 : 0);
    expect(writer.stats().platformFailures).toBe(0);
  });
});

describe('a record that breaks the contract', () => {
  test('is refused with its fields and itself, and not written', () => {
    const { lines, writer } = writerTo();
    const record = unchecked({
      ...smallRecord('hunter2'),
      payload: { ruleset: 'hunter2 hunter2' },
    });
    const error = thrownBy(() => writer.write(record));
    expect(error).toMatchObject({
      code: 'ERR_INVALID_RECORD',
      path: ['payload', 'ruleset'],
    });
    expect(Object.hasOwn(error, 'cause')).toBe(false);
    expect(error.issues).toEqual([
      { path: ['payload', 'ruleset'], message: expect.stringContaining('expected') as string },
    ]);
    expect(error.input).toBe(record);
    expect(error.message).toContain('payload.ruleset: expected');
    expect(error.message).not.toContain('hunter2');
    expect(lines).toEqual([]);
    expect(writer.stats()).toMatchObject({ refused: 1, written: 0, lastError: undefined });
  });

  test.each([null, undefined, 1, 'text', [], () => {}])('is refused where it is %s', (record) => {
    const { writer } = writerTo();
    expect(thrownBy(() => writer.write(unchecked(record)))).toMatchObject({
      code: 'ERR_INVALID_RECORD',
      path: [],
    });
  });

  test('is written in the open dialect where only a vocabulary is missed', () => {
    const { lines, writer } = writerTo({ dialect: 'open' });
    writer.write({ ...smallRecord(), payload: { ruleset: 'brand_new' } } as never);
    expect(lines[0]).toContain('"ruleset":"brand_new"');
  });

  test('is written without validation', () => {
    const { lines, writer } = writerTo({ validate: false });
    writer.write(unchecked({ anything: [1, { goes: true }], absent: undefined }));
    expect(lines).toEqual(['{"anything":[1,{"goes":true}]}\n']);
  });

  test('is written without validation even where it is empty', () => {
    const { lines, writer } = writerTo({ validate: false });
    writer.write(unchecked({}));
    expect(lines).toEqual(['{}\n']);
  });
});

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

/** Values that are no JSON: where they stand in free-form data, and without validation. */
const NOT_JSON: readonly (readonly [string, unknown])[] = [
  ['a cycle', cycle],
  ['a BigInt', 1n],
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a Map', new Map([[1, 2]])],
  ['a Date', new Date(0)],
  ['a class instance', new URL('https://example.test')],
  ['undefined in an array', [undefined]],
];

const THROWING: readonly (readonly [string, () => unknown])[] = [
  [
    'a getter that throws',
    () => ({
      get inner() {
        throw new Error('from the getter');
      },
    }),
  ],
  [
    'a proxy that throws',
    () =>
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error('from the proxy');
          },
        },
      ),
  ],
];

describe.each([true, false])('with validate: %s', (validate) => {
  test.each(NOT_JSON)('%s in free-form data is refused', (_name, value) => {
    const { lines, writer } = writerTo({ validate });
    const error = thrownBy(() => writer.write(customRecord({ value })));
    expect(error.code).toBe('ERR_INVALID_RECORD');
    expect(error.path.slice(0, 3)).toEqual(['payload', 'options', 'value']);
    expect(lines).toEqual([]);
  });

  test.each(THROWING)('%s in free-form data is refused with its cause', (_name, make) => {
    const { lines, writer } = writerTo({ validate });
    const record = customRecord({ value: make() });
    const error = thrownBy(() => writer.write(record));
    expect(error.code).toBe('ERR_INVALID_RECORD');
    expect(error.cause).toMatchObject({ message: expect.stringContaining('from the') as string });
    expect(error.input).toBe(record);
    expect(error.message).not.toContain('from the');
    expect(lines).toEqual([]);
    expect(writer.stats().refused).toBe(1);
  });

  test('a toJSON method is a function, not a way to write something else', () => {
    const { writer } = writerTo({ validate });
    const value = { toJSON: () => 'something else' };
    expect(thrownBy(() => writer.write(customRecord({ value }))).code).toBe('ERR_INVALID_RECORD');
  });
});

describe('without validation', () => {
  test.each([
    ['an array', [1]],
    ['null', null],
    ['a string', 'text'],
    ['nothing', undefined],
  ])('%s is no record', (_name, value) => {
    const { writer } = writerTo({ validate: false });
    expect(thrownBy(() => writer.write(unchecked(value)))).toMatchObject({
      code: 'ERR_INVALID_RECORD',
      path: [],
    });
  });

  test.each([
    ['', { '': 1 }],
    ['a"b', { 'a"b': 1 }],
    ['\ud800', { '\ud800': 1 }],
    ['__proto__', JSON.parse('{"__proto__":1}') as object],
  ])('a top-level key %j that cannot stand in a line is refused', (key, record) => {
    const { lines, writer } = writerTo({ validate: false });
    const error = thrownBy(() => writer.write(unchecked(record)));
    expect(error).toMatchObject({ code: 'ERR_INVALID_RECORD', path: [key] });
    expect(lines).toEqual([]);
  });
});

describe('options', () => {
  test.each([
    { destination: null },
    { destination: {} },
    { destination: true },
    { destination: '' },
    { destination: '/nowhere/at/all.log' },
    { destination: '/tmp' },
    { destination: -1 },
    { destination: 1.5 },
    { destination: Number.NaN },
    { destination: 99_999 },
    { dialect: 'loose' },
    { platform: true },
    { platform: 'elk' },
    { validate: 1 },
    { sync: 'no' },
    { maxBufferBytes: 0 },
    { maxBufferBytes: 1.5 },
    { maxBufferBytes: Number.POSITIVE_INFINITY },
    { maxBufferBytes: '1' },
    { destiantion: 2 },
  ])('that cannot be used are refused when the writer is made: %o', (options) => {
    const error = thrownBy(() => createLogWriter(options as never));
    expect(error.code).toBe('ERR_INVALID_OPTION');
    expect(error.path).toEqual(Object.keys(options));
  });

  test.each([null, 'events.log', 1, [], () => {}])('that are %s are refused', (options) => {
    expect(thrownBy(() => createLogWriter(options as never))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: [],
    });
  });

  test('may be undefined, which is their default', () => {
    const { lines, write } = memory();
    const options = {
      dialect: undefined,
      platform: undefined,
      sync: undefined,
      validate: undefined,
    };
    createLogWriter({ ...options, destination: { write } } as never).write(smallRecord());
    expect(lines).toHaveLength(1);
  });

  test('may all be left out', async () => {
    const writer = createLogWriter();
    await writer.close();
    expect(writer.stats()).toMatchObject({ written: 0, lastError: undefined });
  });

  test('decide what write takes, by type', () => {
    expectTypeOf(createLogWriter<'open'>)
      .parameter(0)
      .toEqualTypeOf<LogWriterOptions<'open'> | undefined>();
    const { writer } = writerTo();
    // @ts-expect-error: a record without its payload is no record
    expect(() => writer.write({ ...smallRecord(), payload: undefined })).toThrow(
      SecurityEventError,
    );
  });
});

describe('a writer', () => {
  test('that is closed refuses records, and hands them back', async () => {
    const { lines, writer } = writerTo();
    await writer.close();
    const record = smallRecord();
    const error = thrownBy(() => writer.write(record));
    expect(error).toMatchObject({ code: 'ERR_WRITER_CLOSED', kind: 'lifecycle' });
    expect(error.input).toBe(record);
    expect(lines).toEqual([]);
    expect(writer.stats()).toMatchObject({ refused: 1 });
  });

  test('shares one close and one flush among those who ask', async () => {
    const { writer } = writerTo();
    const flush = writer.flush();
    expect(writer.flush()).toBe(flush);
    writer.write(smallRecord());
    expect(writer.flush()).not.toBe(flush);
    const close = writer.close();
    expect(writer.close()).toBe(close);
    expect(writer.flush()).toBe(close);
    expect(writer[Symbol.asyncDispose]()).toBe(close);
    await close;
  });

  test('gives a copy of its counters', () => {
    const { writer } = writerTo();
    const before = writer.stats();
    writer.write(smallRecord());
    expect(before.written).toBe(0);
    expect(writer.stats()).toEqual({
      written: 1,
      pending: 0,
      failed: 0,
      refused: 0,
      dropped: 0,
      platformFailures: 0,
      lastError: undefined,
      lastPlatformError: undefined,
    });
  });

  test('may be written to by its own platform function and destination', () => {
    const lines: string[] = [];
    const writer = createLogWriter({
      platform: (record) => {
        if (!record.context.service.name.startsWith('inner'))
          writer.write(smallRecord('inner-platform'));
        return { for: record.context.service.name };
      },
      destination: {
        write: (line: string) => {
          if (!line.includes('inner')) writer.write(smallRecord('inner-destination'));
          lines.push(line);
        },
      },
    });
    writer.write(smallRecord('outer'));
    const seen = lines.map((line) => JSON.parse(line) as { for: string; context: object });
    expect(seen.map((line) => line.for)).toEqual(['inner-platform', 'inner-destination', 'outer']);
    expect(seen.map((line) => line.context)).toEqual(
      ['inner-platform', 'inner-destination', 'outer'].map((name) => smallRecord(name).context),
    );
  });

  test('waits no longer than its deadline when it closes', async () => {
    const slept: number[] = [];
    const clock = {
      ...systemClock,
      sleep: (ms: number): Promise<void> => {
        slept.push(ms);
        return Promise.resolve();
      },
    };
    const destination = { write: () => new Promise(() => {}) };
    const writer = new RecordWriter(settingsOf({ destination, sync: false }), clock);
    writer.write(smallRecord());
    expect(writer.stats()).toMatchObject({ pending: 1, dropped: 0 });
    await writer.close();
    expect(slept).toEqual([5000]);
    expect(writer.stats()).toMatchObject({ pending: 0, dropped: 1, written: 0 });
  });
});
