import { describe, expect, test } from 'vitest';
import { keptLines, smallRecord } from '../helpers/log-records.ts';
import { withReplacedPromise } from '../helpers/promises.ts';

/** What is written beside the record, and what the counters say, for one platform function. */
async function attributesOf(platform: (record: never) => unknown) {
  const { lines, writer } = keptLines({ platform: platform as never });
  writer.write(smallRecord());
  expect(lines).toHaveLength(1);
  const { context, detected_at, event_name, event_version, payload, ...attributes } = JSON.parse(
    lines[0] ?? '',
  ) as Record<string, unknown>;
  expect({ context, detected_at, event_name, event_version, payload }).toEqual(smallRecord());
  const { written, failed, refused, platformFailures, lastPlatformError } = await writer.stats();
  expect({ written, failed, refused }).toEqual({ written: 1, failed: 0, refused: 0 });
  return { attributes, platformFailures, message: lastPlatformError?.message, lastPlatformError };
}

const failing = async (): Promise<never> => {
  throw new Error('late, and of another Promise');
};

const GOOD = { trace_id: 'abc', 'usr.id': '7', dd: { span_id: '1', list: [1, null, true] } };

describe('a platform function', () => {
  test('adds its attributes after the five fields of the record', () => {
    const { lines, writer } = keptLines({ platform: () => GOOD });
    writer.write(smallRecord());
    expect(Object.keys(JSON.parse(lines[0] ?? '') as object)).toEqual([
      ...Object.keys(smallRecord()),
      ...Object.keys(GOOD),
    ]);
    expect(JSON.parse(lines[0] ?? '')).toEqual({ ...smallRecord(), ...GOOD });
  });

  test('gets the validated record', async () => {
    const { attributes } = await attributesOf((record: { event_name: string }) => ({
      seen: record.event_name,
    }));
    expect(attributes).toEqual({ seen: 'svc.ev0.threat.attack' });
  });

  test('may return no attributes, and undefined counts as absent', async () => {
    expect(await attributesOf(() => ({}))).toMatchObject({ attributes: {}, platformFailures: 0 });
    const bare = Object.assign(Object.create(null) as object, { a: undefined, b: 1 });
    expect(await attributesOf(() => bare)).toMatchObject({
      attributes: { b: 1 },
      platformFailures: 0,
    });
  });

  test('cannot change the record', async () => {
    const { attributes, platformFailures, lastPlatformError } = await attributesOf(
      (record: { context: { service: { name: string } } }) => {
        record.context.service.name = 'changed';
        return { a: 1 };
      },
    );
    expect({ attributes, platformFailures }).toEqual({ attributes: {}, platformFailures: 1 });
    expect(lastPlatformError?.cause).toBeInstanceOf(TypeError);
  });

  test('costs only its attributes when it throws', async () => {
    const cause = new Error('no tracer');
    const outcome = await attributesOf(() => {
      throw cause;
    });
    expect(outcome).toMatchObject({
      attributes: {},
      platformFailures: 1,
      message: 'the platform function threw',
    });
    expect(outcome.lastPlatformError?.cause).toBe(cause);
  });

  test.each([
    ['null', null],
    ['an array', [1]],
    ['a Map', new Map()],
    ['a promise', Promise.resolve({ a: 1 })],
  ])('that gives %s costs the attributes alone', async (_name, answer) => {
    expect(await attributesOf(() => answer)).toMatchObject({
      attributes: {},
      platformFailures: 1,
      message: 'expected a plain object of attributes',
    });
  });

  test('causes no unhandled rejection when it is asynchronous and rejects', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    expect(await attributesOf(() => Promise.reject(new Error('late')))).toMatchObject({
      platformFailures: 1,
    });
    // Of async functions, and none of the global Promise.
    const { platformFailures } = await withReplacedPromise(async () => attributesOf(failing));
    expect(platformFailures).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });

  test.each([
    {
      bad: { payload: 'mine' },
      message: 'the attribute "payload" is a field of the record',
    },
    { bad: { '': 1 }, message: 'an attribute has a name that a log line cannot have' },
    { bad: { 'a"b': 1 }, message: 'an attribute has a name that a log line cannot have' },
    { bad: { 'a\udc00': 1 }, message: 'an attribute has a name that a log line cannot have' },
    { bad: { 'a\u2028': 1 }, message: 'an attribute has a name that a log line cannot have' },
    { bad: { '\u202ea': 1 }, message: 'an attribute has a name that a log line cannot have' },
    {
      bad: JSON.parse('{"__proto__":{"x":1}}') as object,
      message: 'an attribute has a name that a log line cannot have',
    },
    {
      bad: { big: 1n },
      message: 'the attribute "big" is not JSON: expected a JSON value, found a BigInt',
    },
    {
      bad: { dd: { at: new Date(0) } },
      message: 'the attribute "dd" is not JSON: expected a plain object, found a class instance',
    },
    {
      bad: {
        get trap() {
          throw new Error('from the getter');
        },
      },
      message: 'the attribute "trap" threw when it was read',
    },
  ])('loses a bad attribute and keeps the others: $message', async ({ bad, message }) => {
    const answer = Object.create(null) as Record<string, unknown>;
    Object.defineProperties(answer, Object.getOwnPropertyDescriptors(bad));
    answer['zulu'] = 'kept';
    expect(await attributesOf(() => answer)).toMatchObject({
      attributes: { zulu: 'kept' },
      platformFailures: 1,
      message,
    });
  });

  test('is counted once for each record, with its first fault', async () => {
    expect(await attributesOf(() => ({ context: 1, payload: 2, big: 1n }))).toMatchObject({
      platformFailures: 1,
      message: 'the attribute "context" is a field of the record',
    });
  });
});
