import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/contract/index.ts';
import { escapeLine } from '../../src/contract/json-fragments.ts';
import { recordSerializer } from '../../src/log/record-serializer.ts';
import { createLogWriter, RecordWriter } from '../../src/log/writer.ts';
import { settingsOf } from '../../src/log/writer-options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
};
const ATTRIBUTES =
  '"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","trace_flags":"01"';

function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

describe('a record that is not validated', () => {
  const { serialize, check } = recordSerializer('strict', false);

  test('is serialised as its copy would be, whatever JSON it is, or refused as that is', () => {
    const record = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.anything());
    fc.assert(
      fc.property(record, (given) => {
        const due = attempt(() => escapeLine(JSON.stringify(check(given))));
        expect(attempt(() => serialize(given))).toBe(due);
      }),
      { numRuns: quickOrNightly(300, 5000), seed: 8 },
    );
  });

  test.each([
    ['an array', []],
    ['a text', 'text'],
    ['undefined', undefined],
    ['null', null],
    ['an instance', new URL('urn:a')],
    ['an object that has a key without a name', { '': 1 }],
    ['an object that has a key with a quote', { 'a"': 1 }],
    [
      'an object with a getter that throws',
      {
        get a() {
          throw new Error('lazy');
        },
      },
    ],
  ])('is refused where it is %s', (_, record) => {
    expect(() => serialize(record)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_RECORD', input: record }),
    );
  });

  test('may have such keys further down', () => {
    const record = { a: { '': 1, 'b"': 2 } };
    expect(serialize(record)).toBe(JSON.stringify(record));
  });
});

describe('the attributes of a span', () => {
  test.each(['otel', 'auto'] as const)(
    'stand beside the record, with %s, read once',
    (platform) => {
      const lines: string[] = [];
      let reads = 0;
      const activeSpan = () => {
        reads += 1;
        return SPAN;
      };
      const destination = { write: (line: string) => void lines.push(line) };
      const writer = createLogWriter({ destination, platform, activeSpan });
      writer.write(smallRecord());
      expect(lines).toEqual([`${JSON.stringify(smallRecord()).slice(0, -1)},${ATTRIBUTES}}\n`]);
      expect(reads).toBe(1);
    },
  );

  test.each([
    ['no span', () => null],
    [
      'a reader that throws',
      () => {
        throw new Error('no context');
      },
    ],
  ])('are none with %s', (_, activeSpan) => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    createLogWriter({ destination, platform: 'otel', activeSpan }).write(smallRecord());
    expect(lines).toEqual([`${JSON.stringify(smallRecord())}\n`]);
  });

  test('are what they are while every object inherits a toJSON', () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const writer = createLogWriter({ destination, platform: 'otel', activeSpan: () => SPAN });
    Reflect.defineProperty(Object.prototype, 'toJSON', { value: () => 'gone', configurable: true });
    try {
      writer.write(smallRecord());
    } finally {
      Reflect.deleteProperty(Object.prototype, 'toJSON');
    }
    expect(lines).toEqual([`${JSON.stringify(smallRecord()).slice(0, -1)},${ATTRIBUTES}}\n`]);
  });
});

describe('a record whose platform is to be shown it', () => {
  test.each(['datadog', 'ecs', false] as const)('is read once, with %s', (platform) => {
    const lines: string[] = [];
    let reads = 0;
    const { payload, ...rest } = smallRecord();
    const record = Object.defineProperty({ ...rest, payload }, 'payload', {
      enumerable: true,
      get: () => {
        reads += 1;
        return payload;
      },
    });
    const destination = { write: (line: string) => void lines.push(line) };
    createLogWriter({ destination, platform }).write(record as ReturnType<typeof smallRecord>);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([smallRecord()]);
    expect(reads).toBe(1);
  });
});

const writerTo = (write: (line: string) => void, platform: 'otel' | 'ecs' | false = false) =>
  new RecordWriter<'strict'>(
    settingsOf({ destination: { write }, platform, activeSpan: () => SPAN }),
    systemClock,
  );

/** As a reporter holds it. */
const RECORD = JSON.parse(JSON.stringify(smallRecord())) as JsonObject;

describe('a record that is given with its JSON', () => {
  const json = JSON.stringify(RECORD);

  test.each([false, 'otel', 'ecs'] as const)('has the line of the record, with %s', (platform) => {
    const lines: string[] = [];
    const writer = writerTo((line) => void lines.push(line), platform);
    writer.writeLine(json, RECORD);
    writer.write(smallRecord());
    expect(lines[0]).toBe(lines[1]);
    expect(writer.stats()).toMatchObject({ written: 2, refused: 0 });
  });

  test('is handed back where it cannot be written', () => {
    const writer = writerTo(() => {
      throw new Error('gone');
    });
    expect(() => writer.writeLine(json, RECORD)).toThrow(
      expect.objectContaining({ code: 'ERR_WRITE_FAILED', input: RECORD }),
    );
  });

  test('is refused by a writer that is closed', async () => {
    const writer = writerTo(() => {});
    await writer.close();
    expect(() => writer.writeLine(json, RECORD)).toThrow(
      expect.objectContaining({ code: 'ERR_WRITER_CLOSED', input: RECORD }),
    );
    expect(writer.stats()).toMatchObject({ written: 0, refused: 1 });
  });
});
