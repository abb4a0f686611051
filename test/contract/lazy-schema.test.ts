import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { expecting } from '../../src/contract/error-messages.ts';
import { lazySchema } from '../../src/contract/lazy-schema.ts';
import { whilePolluted } from '../hostile-objects/pollution.ts';
import { MESSAGES, RECORDS } from './samples.ts';

const RECORD = RECORDS.attack;

const POLLUTION = { names: ['polluted'], value: 'by an attack' };

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('a schema that is built when used', () => {
  test('is built at the first parse, and once', () => {
    const build = vi.fn<() => z.ZodString>(() => z.string());
    const schema = lazySchema(build);
    expect(build).not.toHaveBeenCalled();
    expect(schema.parse('a')).toBe('a');
    expect(schema.safeParse(1).success).toBe(false);
    expect(build).toHaveBeenCalledTimes(1);
  });

  test('tries again after a build that failed', () => {
    let isPolluted = true;
    const schema = lazySchema(() => {
      if (isPolluted) throw new TypeError('polluted');
      return z.string();
    });
    expect(() => schema.safeParse('a')).toThrow('polluted');
    isPolluted = false;
    expect(schema.safeParse('a')).toEqual({ success: true, data: 'a' });
  });

  test('is built once more when the pollution during its build has ended', () => {
    const build = vi.fn<() => z.ZodString>(() => z.string());
    const schema = lazySchema(build);
    const parseTwice = () => [schema.safeParse('a'), schema.safeParse('a')];
    whilePolluted(POLLUTION, parseTwice);
    expect(build).toHaveBeenCalledTimes(1);
    parseTwice();
    expect(build).toHaveBeenCalledTimes(2);
  });

  test('is not built again for a later pollution', () => {
    const build = vi.fn<() => z.ZodString>(() => z.string());
    const schema = lazySchema(build);
    schema.safeParse('a');
    whilePolluted(POLLUTION, () => schema.safeParse('a'));
    schema.safeParse('a');
    expect(build).toHaveBeenCalledTimes(1);
  });

  test('has the message of its schema, or else ours, or else that of zod', () => {
    const schema = lazySchema(() =>
      z.object({ a: z.number({ error: expecting('a measure') }), b: z.int(), c: z.email() }),
    );
    const { issues = [] } = schema.safeParse({ a: 'x', b: 'x', c: 'x' }).error ?? {};
    expect(issues.map(({ path, message }) => [...path, message])).toEqual([
      ['a', 'expected a measure, found a string'],
      ['b', 'expected a number, found a string'],
      ['c', 'Invalid email address'],
    ]);
  });

  test('works in copies, arrays and JSON Schema', () => {
    const schema = lazySchema(() => z.string().min(1));
    expect(schema.describe('a name').parse('a')).toBe('a');
    expect(z.array(schema).safeParse(['']).success).toBe(false);
    expect(z.toJSONSchema(schema)).toMatchObject({ type: 'string', minLength: 1 });
    expect(schema.unwrap()).toBeInstanceOf(z.ZodString);
  });
});

describe('the contract, used for the first time while Object.prototype is polluted', () => {
  test('validates records again when the pollution has ended', async () => {
    vi.resetModules();
    const { LogRecord } = await import('../../src/contract/index.ts');
    const refused = whilePolluted(POLLUTION, () => thrownBy(() => LogRecord.safeParse(RECORD)));
    expect(refused).toBeInstanceOf(TypeError);
    expect(LogRecord.safeParse(RECORD).success).toBe(true);
  });

  // Names that zod reads during a build: the build succeeds, but the schema is wrong.
  test.each(['length', 'maximum', 'check'])(
    'does not keep an inherited %s when the pollution has ended',
    async (key) => {
      vi.resetModules();
      const { contract } = await import('../../src/contract/index.ts');
      const suffixed = RECORDS['suffixed exploit'];
      // zod's own classes are made ready by their first use, which fails while there is pollution.
      contract({ dialect: 'open' }).LogRecord.parse(suffixed);
      contract({ dialect: 'open' }).WebhookBodyV2.parse([MESSAGES.test]);
      const { LogRecord, WebhookBodyV2 } = contract();
      const refused = whilePolluted({ ...POLLUTION, names: [key] }, () => [
        thrownBy(() => LogRecord.parse(suffixed)),
        thrownBy(() => WebhookBodyV2.parse([MESSAGES.test])),
      ]);
      expect(refused).toContainEqual(expect.any(Error));
      expect(LogRecord.safeParse(suffixed).success).toBe(true);
      expect(WebhookBodyV2.safeParse([MESSAGES.test]).success).toBe(true);
    },
  );

  // As JSON would bring it: zod finds the checks of a schema under this name.
  test('does not keep an open dialect that was built under inherited checks', async () => {
    vi.resetModules();
    const { contract } = await import('../../src/contract/index.ts');
    const checks = [{ _zod: { onattach: [], def: {} } }];
    whilePolluted({ names: ['checks'], value: checks }, () =>
      thrownBy(() => contract({ dialect: 'open' }).LogRecord),
    );
    const { LogRecord } = contract({ dialect: 'open' });
    expect(LogRecord.safeParse(RECORD).success).toBe(true);
    expect(contract({ dialect: 'open' }).LogRecord).toBe(LogRecord);
  });

  test('is built by a log writer before, so that the attack itself is reported', async () => {
    vi.resetModules();
    const { createLogWriter } = await import('../../src/log/writer.ts');
    const lines: string[] = [];
    const log = createLogWriter({ destination: { write: (line: string) => lines.push(line) } });
    whilePolluted(POLLUTION, () => log.write(RECORD));
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([RECORD]);
  });
});
