import { describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { contract } from '../../src/contract/index.ts';
import { jsonTextOf, jsonTexts } from '../../src/contract/json-text.ts';
import { sharedTextOf } from '../../src/contract/shared-text.ts';
import { createLogWriter } from '../../src/log/writer.ts';
import { RECORDS } from './samples.ts';

/** How often code was made from a string while `act` ran. */
function codeMade(act: () => unknown): number {
  let made = 0;
  const construct = (target: FunctionConstructor, given: string[]) => {
    made += 1;
    return Reflect.construct(target, given) as object;
  };
  vi.stubGlobal('Function', new Proxy(Function, { construct }));
  try {
    act();
    return made;
  } finally {
    vi.unstubAllGlobals();
  }
}

const writer = (dialect: 'strict' | 'open') =>
  createLogWriter({ destination: { write: () => {} }, dialect });

describe('the text of a schema', () => {
  test('is made once for all that hold it', () => {
    const part = z.strictObject({ a: z.string() });
    const texts = jsonTexts();
    const whole = () => texts(z.strictObject({ one: part, other: part }));
    expect(codeMade(whole)).toBe(2);
    expect(codeMade(whole)).toBe(1);
    expect(texts(part)({ a: 'x' })).toBe('{"a":"x"}');
  });

  test('is the same for whoever asks for it', () => {
    const schema = z.strictObject({ a: z.string() });
    const asked = () => sharedTextOf(schema)({ a: 'x' });
    expect(codeMade(asked)).toBe(1);
    expect(codeMade(asked)).toBe(0);
    expect(asked()).toBe('{"a":"x"}');
  });

  test('is not made while a prototype is polluted, whose keys would be read with the schema', () => {
    const schema = z.strictObject({ a: z.string() });
    const polluted = Object.prototype as { checks?: unknown };
    onTestFinished(() => void delete polluted.checks);
    polluted.checks = [{}];
    const textOf = sharedTextOf(schema);
    const meanwhile = textOf({ a: 'x' });
    delete polluted.checks;
    expect(meanwhile).toBe(undefined);
    expect(textOf({ a: 'x' })).toBe('{"a":"x"}');
    expect(sharedTextOf(schema)({ a: 'x' })).toBe(jsonTextOf(schema)({ a: 'x' }));
  });
});

describe.each(['strict', 'open'] as const)('a log writer of the dialect %s', (dialect) => {
  test('has made its code before the first record, whichever it is', () => {
    const made = writer(dialect);
    const textOf = jsonTextOf(contract({ dialect }).LogRecord);
    // For others zod makes code of its own at their first parse.
    const quick = Object.values(RECORDS).filter((record) => textOf(record) !== undefined);
    const writeAll = () => {
      for (const record of quick) made.write(record as never);
    };
    expect(codeMade(writeAll)).toBe(0);
    expect(made.stats().written).toBe(quick.length);
    expect(quick.length).toBeGreaterThan(5);
  });

  test('makes none of its own where there was one before it', () => {
    writer(dialect);
    expect(codeMade(() => writer(dialect))).toBe(0);
  });

  test('writes what the schema and JSON.stringify make of a record', () => {
    const { LogRecord } = contract({ dialect });
    const textOf = sharedTextOf(LogRecord);
    expect(textOf(RECORDS.attack)).toBe(JSON.stringify(LogRecord.parse(RECORDS.attack)));
  });
});
