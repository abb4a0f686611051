import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createLogWriter, RecordWriter } from '../../src/log/writer.ts';
import { type LogWriterOptions, readWriterOptions } from '../../src/log/writer-options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { customRecord, keptLines, smallRecord } from '../helpers/log-records.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const unchecked = (value: unknown): ReturnType<typeof smallRecord> => value as never;

describe('a line', () => {
  test('is only the record, in the contract’s order, with one line feed', () => {
    const { lines, writer } = keptLines();
    writer.write(smallRecord());
    expect(lines).toEqual([
      '{"context":{"service":{"env":"production","name":"shop","svc_id":"svc-1"}},' +
        '"detected_at":"2026-11-21T10:00:00.000Z","event_name":"svc.ev0.threat.attack",' +
        '"event_version":"1.0.0","payload":{"ruleset":"sql_injection"}}\n',
    ]);
  });

  test('holds the canonical form of tolerated variants', () => {
    const { lines, writer } = keptLines();
    const payload = { sdk_event_name: 'checkout', options: {} };
    writer.write({ ...customRecord({ plan: 'gold' }), payload });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      payload: { event_name: 'checkout', options: {}, sdk_event_name: 'checkout' },
    });
  });

  test('holds any options on one line', () => {
    const { lines, writer } = keptLines();
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

  test('is written from a frozen record, which it does not change', () => {
    const { lines, writer } = keptLines({ platform: () => ({ trace_id: 'abc' }) });
    const record = Object.freeze(customRecord(Object.freeze({ list: Object.freeze([1, 2]) })));
    const before = structuredClone(record);
    writer.write(record);
    expect(record).toEqual(before);
    expect(lines).toHaveLength(1);
  });
});

describe('keys that pino treats specially', () => {
  test.each([
    { err: { message: 'not a message', stack: 'x' } },
    { error: 'x', msg: 'mine', level: 30, time: 1, pid: 2, hostname: 'h', name: 'n', v: 1 },
    { req: { method: 'GET' }, res: {} },
    { method: 'GET', headers: { a: 1 }, socket: {} },
  ])('are written unchanged: %o', async (attributes) => {
    const { lines, writer } = keptLines({ platform: () => attributes });
    writer.write(smallRecord());
    expect(JSON.parse(lines[0] ?? '')).toEqual({ ...smallRecord(), ...attributes });
    expect(lines[0]?.match(/"msg":/g)?.length ?? 0).toBe('msg' in attributes ? 1 : 0);
    expect((await writer.stats()).platformFailures).toBe(0);
  });
});

describe('a record that breaks the contract', () => {
  test('is rejected with its path and input, and not written', async () => {
    const { lines, writer } = keptLines();
    const payload = { ruleset: 'hunter2 hunter2' };
    const record = unchecked({ ...smallRecord('hunter2'), payload });
    const error = thrownBy(() => writer.write(record));
    expect(error).toMatchObject({ code: 'ERR_INVALID_RECORD', path: ['payload', 'ruleset'] });
    expect(Object.hasOwn(error, 'cause')).toBe(false);
    expect(error.issues).toEqual([
      { path: ['payload', 'ruleset'], message: expect.stringContaining('expected') as string },
    ]);
    expect(error.input).toBe(record);
    expect(error.message).toContain('payload.ruleset: expected');
    expect(error.message).not.toContain('hunter2');
    expect(lines).toEqual([]);
    expect(await writer.stats()).toMatchObject({ refused: 1, written: 0, lastError: undefined });
  });

  test.each([null, undefined, 'text', []])('is rejected if it is %s', (record) => {
    const { writer } = keptLines();
    expect(thrownBy(() => writer.write(unchecked(record)))).toMatchObject({
      code: 'ERR_INVALID_RECORD',
      path: [],
    });
  });

  test('is written in the open dialect if only a word is unknown', () => {
    const { lines, writer } = keptLines({ dialect: 'open' });
    writer.write({ ...smallRecord(), payload: { ruleset: 'brand_new' } } as never);
    expect(lines[0]).toContain('"ruleset":"brand_new"');
  });
});

test('a value whose getter throws is rejected with its cause, and not written', async () => {
  const { lines, writer } = keptLines();
  const value = {
    get inner() {
      throw new Error('from the getter');
    },
  };
  const record = customRecord({ value });
  const error = thrownBy(() => writer.write(record));
  expect(error.code).toBe('ERR_INVALID_RECORD');
  expect(error.cause).toMatchObject({ message: 'from the getter' });
  expect(error.input).toBe(record);
  expect(error.message).not.toContain('from the');
  expect(lines).toEqual([]);
  expect((await writer.stats()).refused).toBe(1);
});

describe('options', () => {
  test.each([
    { destination: null },
    { destination: {} },
    { destination: '' },
    { destination: '/nowhere/at/all.log' },
    { destination: -1 },
    { destination: 99_999 },
    { dialect: 'loose' },
    { platform: true },
    { platform: 'OTEL' },
    { activeSpan: 'x' },
    { sync: 'no' },
    { maxBufferBytes: 0 },
    { maxBufferBytes: '1' },
    { destiantion: 2 },
  ])('are rejected when they are invalid: %o', (options) => {
    const error = thrownBy(() => createLogWriter(options as never));
    expect(error.code).toBe('ERR_INVALID_OPTION');
    expect(error.path).toEqual(Object.keys(options));
  });

  test('name a file that cannot be opened, and the cause', () => {
    const { message } = thrownBy(() => createLogWriter({ destination: '/nowhere/at/all.log' }));
    expect(message).toContain('cannot open the file "/nowhere/at/all.log" for appending (ENOENT)');
  });

  test('are rejected by name when they cannot be read', () => {
    const destination = {
      get write() {
        return JSON.parse('{') as () => void;
      },
    };
    expect(thrownBy(() => createLogWriter({ destination }))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['destination'],
    });
  });

  test('may all be absent', async () => {
    const writer = createLogWriter();
    await writer.close();
    expect(await writer.stats()).toMatchObject({ written: 0, lastError: undefined });
  });

  test('decide the type of the argument of write', () => {
    expectTypeOf(createLogWriter<'open'>)
      .parameter(0)
      .toEqualTypeOf<LogWriterOptions<'open'> | undefined>();
    const { writer } = keptLines();
    // @ts-expect-error: a record without its payload is no record
    expect(() => writer.write({ ...smallRecord(), payload: undefined })).toThrow(
      SecurityEventError,
    );
  });
});

describe('a writer', () => {
  test('rejects records after close, with the record as input', async () => {
    const { lines, writer } = keptLines();
    await writer.close();
    const record = smallRecord();
    const error = thrownBy(() => writer.write(record));
    expect(error).toMatchObject({ code: 'ERR_WRITER_CLOSED', kind: 'lifecycle' });
    expect(error.input).toBe(record);
    expect(lines).toEqual([]);
    expect(await writer.stats()).toMatchObject({ refused: 1 });
  });

  test('returns one promise to all callers of flush, and of close', async () => {
    const { writer } = keptLines();
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

  test('returns a copy of its counters', async () => {
    const { writer } = keptLines();
    const before = await writer.stats();
    writer.write(smallRecord());
    expect(before.written).toBe(0);
    expect(await writer.stats()).toEqual({
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

  test('accepts records from its own platform function and destination', () => {
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

  test('waits at most 5 s when it closes', async () => {
    const slept: number[] = [];
    const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
    const destination = { write: () => new Promise(() => {}) };
    const writer = new RecordWriter(readWriterOptions({ destination, sync: false }), clock);
    writer.write(smallRecord());
    expect(await writer.stats()).toMatchObject({ pending: 1, dropped: 0 });
    await writer.close();
    expect(slept).toEqual([5000]);
    expect(await writer.stats()).toMatchObject({ pending: 0, dropped: 1, written: 0 });
  });
});
