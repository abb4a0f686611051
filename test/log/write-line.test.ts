import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/contract/index.ts';
import { RecordWriter } from '../../src/log/writer.ts';
import { readWriterOptions } from '../../src/log/writer-options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { customRecord, keptLines, smallRecord } from '../helpers/log-records.ts';

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
};

describe('a record with a getter', () => {
  test.each(['ecs', false] as const)('is read once, with %s', (platform) => {
    let reads = 0;
    const { payload, ...rest } = smallRecord();
    const record = Object.defineProperty({ ...rest, payload }, 'payload', {
      enumerable: true,
      get: () => {
        reads += 1;
        return payload;
      },
    });
    const { lines, writer } = keptLines({ platform });
    writer.write(record as ReturnType<typeof smallRecord>);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([smallRecord()]);
    expect(reads).toBe(1);
  });
});

test.each([false, 'otel', 'ecs'] as const)(
  'a record that is passed with its JSON has the same line as the record alone, with %s',
  async (platform) => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const options = readWriterOptions({ destination, platform, activeSpan: () => SPAN });
    const writer = new RecordWriter<'strict'>(options, systemClock);
    // As a reporter holds it.
    const record = JSON.parse(JSON.stringify(smallRecord())) as JsonObject;
    writer.writeSerialized({ json: JSON.stringify(record), record, isOutsideStrict: false });
    writer.write(smallRecord());
    expect(lines[0]).toBe(lines[1]);
    expect(await writer.stats()).toMatchObject({ written: 2, refused: 0 });
  },
);

const RECORD = customRecord({ list: [1, { nested: [] }], text: 'a', none: null });
const ATTRIBUTES = { extra: ['\ud800'], odd: 'a\ud800' };
const WRITTEN = `${JSON.stringify({ ...RECORD, ...ATTRIBUTES })}\n`;
const POLLUTED: object = Array.prototype;
const TO_JSON = { value: () => 'changed', configurable: true, writable: true };

/** Adds an `Array.prototype.toJSON`, as old libraries did. test/hostile-objects pollutes `Object.prototype`. */
function polluted<T>(act: () => T): T {
  Object.defineProperty(POLLUTED, 'toJSON', TO_JSON);
  try {
    return act();
  } finally {
    Reflect.deleteProperty(POLLUTED, 'toJSON');
  }
}

function makeWriter() {
  const kept = keptLines({ platform: () => ATTRIBUTES });
  // A schema is built at its first use.
  kept.writer.write(RECORD);
  return kept;
}

test('a writer writes the validated record while the prototype of arrays is polluted', () => {
  const { writer, lines } = makeWriter();
  polluted(() => writer.write(RECORD));
  expect(lines).toEqual([WRITTEN, WRITTEN]);
});

test('a writer that is created meanwhile does so too', () => {
  const { writer, lines } = polluted(makeWriter);
  writer.write(RECORD);
  expect(lines).toEqual([WRITTEN, WRITTEN]);
});
