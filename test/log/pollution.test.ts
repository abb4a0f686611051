import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { customRecord } from '../helpers/log-records.ts';

type Pollution = readonly [name: string, target: object, key: string, value: unknown];

/** As old libraries put them there; test/hostile-objects has all other names. */
const POLLUTIONS: readonly Pollution[] = [
  ['Object.prototype.toJSON', Object.prototype, 'toJSON', () => 'changed'],
  ['Array.prototype.toJSON', Array.prototype, 'toJSON', () => 'changed'],
];

const record = () => customRecord({ list: [1, { nested: [] }], text: 'a', none: null });

/** Runs `act` while the prototype is polluted, and nothing else. */
function polluted<T>([, target, key, value]: Pollution, act: () => T): T {
  Object.defineProperty(target, key, { value, configurable: true, writable: true });
  try {
    return act();
  } finally {
    Reflect.deleteProperty(target, key);
  }
}

const lines: string[] = [];
const makeWriter = () => {
  onTestFinished(() => void lines.splice(0));
  const destination = { write: (line: string) => lines.push(line) };
  // A schema is built at its first use.
  const writer = createLogWriter({
    destination,
    platform: () => ({ extra: ['\ud800'] }),
  });
  writer.write(record());
  return writer;
};

const written = `${JSON.stringify({ ...record(), extra: ['\ud800'] })}\n`;

describe.each(POLLUTIONS)('with a prototype polluted by %s', (...pollution) => {
  test('a writer writes the validated record', () => {
    const writer = makeWriter();
    polluted(pollution, () => writer.write(record()));
    expect(lines).toEqual([written, written]);
  });

  test('a writer that is created meanwhile does so too', () => {
    makeWriter();
    const writer = polluted(pollution, () => makeWriter());
    writer.write(record());
    expect(lines).toEqual([written, written, written]);
  });
});

test('top-level text with lone surrogates is written while toJSON is polluted', () => {
  const writer = createLogWriter({
    destination: { write: (line: string) => lines.push(line) },
    platform: () => ({ odd: 'a\ud800', even: 'b' }),
  });
  onTestFinished(() => void lines.splice(0));
  for (const pollution of POLLUTIONS) {
    polluted(pollution, () => writer.write(record()));
    const line = lines.pop() ?? '';
    expect(JSON.parse(line)).toEqual({ ...record(), odd: 'a\ud800', even: 'b' });
    expect(line).toContain('"odd":"a\\ud800"');
  }
});
