import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { customRecord } from '../helpers/log-records.ts';

type Pollution = readonly [name: string, target: object, key: string, value: unknown];

/** What an attacker or an old library may have put where every object inherits it. */
const POLLUTIONS: readonly Pollution[] = [
  ['Object.prototype.toJSON', Object.prototype, 'toJSON', () => 'changed'],
  ['Array.prototype.toJSON', Array.prototype, 'toJSON', () => 'changed'],
  ['what pino takes for a response', Object.prototype, 'setHeader', () => 'changed'],
  ['what makes a request of a record', Object.prototype, 'headers', { changed: true }],
  ['what pino takes for an error', Object.prototype, '', { message: 'changed' }],
  ['a serializer', Object.prototype, 'payload', () => 'changed'],
  ['a nested key', Object.prototype, 'nestedKey', 'changed'],
  ['a message prefix', Object.prototype, 'msgPrefix', { changed: true }],
  ['a mixin', Object.prototype, 'mixin', () => ({ changed: true })],
  ['a mixin that is none', Object.prototype, 'mixin', 'changed'],
  ['a transport', Object.prototype, 'transport', { target: 'changed' }],
  ['CRLF', Object.prototype, 'crlf', true],
  ['a formatter', Object.prototype, 'log', () => ({ changed: true })],
  ['a hook', Object.prototype, 'logMethod', () => {}],
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
const makeWriter = (validate = true) => {
  onTestFinished(() => void lines.splice(0));
  const destination = { write: (line: string) => lines.push(line) };
  // A schema is built at its first use.
  const writer = createLogWriter({
    destination,
    validate,
    platform: () => ({ extra: ['\ud800'] }),
  });
  writer.write(record());
  return writer;
};

const written = `${JSON.stringify({ ...record(), extra: ['\ud800'] })}\n`;

describe.each(POLLUTIONS)('with a prototype polluted by %s', (...pollution) => {
  test('a writer writes what it checked', () => {
    const writer = makeWriter();
    polluted(pollution, () => writer.write(record()));
    expect(lines).toEqual([written, written]);
  });

  test('a writer that does not check writes what it was given', () => {
    const writer = makeWriter(false);
    polluted(pollution, () => writer.write(record()));
    expect(lines).toEqual([written, written]);
  });

  test('a writer made meanwhile does so, too', () => {
    makeWriter();
    const writer = polluted(pollution, () => makeWriter());
    writer.write(record());
    expect(lines).toEqual([written, written, written]);
  });
});

test('an enumerable key of a polluted prototype stands in no line', () => {
  const writer = makeWriter(false);
  const pollution = Object.prototype as Record<string, unknown>;
  pollution['polluted'] = 'changed';
  try {
    writer.write(record());
  } finally {
    delete pollution['polluted'];
  }
  expect(lines).toEqual([written, written]);
});

test('top-level text with lone surrogates is written while toJSON is polluted', () => {
  const writer = createLogWriter({
    destination: { write: (line: string) => lines.push(line) },
    platform: () => ({ odd: 'a\ud800', even: 'b' }),
  });
  onTestFinished(() => void lines.splice(0));
  for (const pollution of POLLUTIONS.slice(0, 2)) {
    polluted(pollution, () => writer.write(record()));
    const line = lines.pop() ?? '';
    expect(JSON.parse(line)).toEqual({ ...record(), odd: 'a\ud800', even: 'b' });
    expect(line).toContain('"odd":"a\\ud800"');
  }
});
