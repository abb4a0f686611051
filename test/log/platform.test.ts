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

function fail(): never {
  throw new Error('of the host');
}

const GOOD = { trace_id: 'abc', 'usr.id': '7', dd: { span_id: '1', list: [1, null, true] } };
const BAD_NAME = 'an attribute has a name that a log line cannot have';

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
    expect((await attributesOf((seen) => ({ seen }))).attributes).toEqual({ seen: smallRecord() });
  });

  test('may return no attributes, and undefined counts as absent', async () => {
    expect(await attributesOf(() => ({}))).toMatchObject({ attributes: {}, platformFailures: 0 });
    const bare = Object.assign(Object.create(null) as object, { a: undefined, b: 1 });
    const attributes = { b: 1 };
    expect(await attributesOf(() => bare)).toMatchObject({ attributes, platformFailures: 0 });
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
    const message = 'the platform function threw';
    const outcome = await attributesOf(fail);
    expect(outcome).toMatchObject({ attributes: {}, platformFailures: 1, message });
    expect(outcome.lastPlatformError?.cause).toMatchObject({ message: 'of the host' });
  });

  test.each([
    ['null', null],
    ['an array', [1]],
    ['a Map', new Map()],
    ['a promise', Promise.resolve({ a: 1 })],
  ])('that gives %s costs the attributes alone', async (_name, answer) => {
    const message = 'expected a plain object of attributes';
    const outcome = await attributesOf(() => answer);
    expect(outcome).toMatchObject({ attributes: {}, platformFailures: 1, message });
  });

  test('causes no unhandled rejection when it is asynchronous and rejects', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    const rejecting = await attributesOf(() => Promise.reject(new Error('late')));
    expect(rejecting).toMatchObject({ platformFailures: 1 });
    // Of async functions, and none of the global Promise.
    const { platformFailures } = await withReplacedPromise(() => attributesOf(async () => fail()));
    expect(platformFailures).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });

  test.each<[object, string]>([
    [{ payload: 'mine' }, 'the attribute "payload" is a field of the record'],
    [{ '': 1 }, BAD_NAME],
    [{ 'a"b': 1 }, BAD_NAME],
    [{ 'a\udc00': 1 }, BAD_NAME],
    [{ 'a\u2028': 1 }, BAD_NAME],
    [{ '\u202ea': 1 }, BAD_NAME],
    [JSON.parse('{"__proto__":{"x":1}}') as object, BAD_NAME],
    [{ big: 1n }, 'the attribute "big" is not JSON: expected a JSON value, found a BigInt'],
    [
      { dd: { at: new Date(0) } },
      'the attribute "dd" is not JSON: expected a plain object, found a class instance',
    ],
    [
      Object.defineProperty({}, 'trap', { enumerable: true, get: fail }),
      'the attribute "trap" threw when it was read',
    ],
  ])('loses a bad attribute and keeps the others (%#)', async (bad, message) => {
    const answer = Object.create(null) as Record<string, unknown>;
    Object.defineProperties(answer, Object.getOwnPropertyDescriptors(bad));
    answer['zulu'] = 'kept';
    const attributes = { zulu: 'kept' };
    const outcome = await attributesOf(() => answer);
    expect(outcome).toMatchObject({ attributes, platformFailures: 1, message });
  });

  test('is counted once for each record, with its first fault', async () => {
    expect(await attributesOf(() => ({ context: 1, payload: 2, big: 1n }))).toMatchObject({
      platformFailures: 1,
      message: 'the attribute "context" is a field of the record',
    });
  });
});
