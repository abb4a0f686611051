/** An `Array.prototype.toJSON`, as old libraries added it. test/hostile-objects pollutes `Object.prototype`. */
import { expect, test } from 'vitest';
import { customRecord, keptLines } from '../helpers/log-records.ts';

const record = () => customRecord({ list: [1, { nested: [] }], text: 'a', none: null });

const written = `${JSON.stringify({ ...record(), extra: ['\ud800'], odd: 'a\ud800' })}\n`;

const POLLUTED: object = Array.prototype;
const TO_JSON = { value: () => 'changed', configurable: true, writable: true };

function polluted<T>(act: () => T): T {
  Object.defineProperty(POLLUTED, 'toJSON', TO_JSON);
  try {
    return act();
  } finally {
    Reflect.deleteProperty(POLLUTED, 'toJSON');
  }
}

function makeWriter() {
  const kept = keptLines({ platform: () => ({ extra: ['\ud800'], odd: 'a\ud800' }) });
  // A schema is built at its first use.
  kept.writer.write(record());
  return kept;
}

test('a writer writes the validated record while the prototype of arrays is polluted', () => {
  const { writer, lines } = makeWriter();
  polluted(() => writer.write(record()));
  expect(lines).toEqual([written, written]);
});

test('a writer that is created meanwhile does so too', () => {
  const { writer, lines } = polluted(makeWriter);
  writer.write(record());
  expect(lines).toEqual([written, written]);
});
