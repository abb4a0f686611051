import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SecurityEventError } from '../../src/errors.ts';
import { type SettingsCacheOptions, settingsCache } from '../../src/settings/settings-cache.ts';
import { createSettings, type SettingsFunction } from '../../src/settings/source.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { rejectingListener } from '../helpers/promises.ts';

type Get = (applicationId: string) => unknown;

const SECRET = 'secret-hunter2';
const SHOP = {
  name: 'shop',
  environment: 'production',
  url: 'https://receiver.example/hook',
  secret: SECRET,
};
const KNOWN = { ...SHOP, format: 2 };
const DOWN = new Error('the database is down');

function start(get: Get, options: SettingsCacheOptions = {}) {
  const clock = createFakeClock();
  const asked = vi.fn<Get>(get);
  const onFailed = vi.fn<(error: SecurityEventError, applicationId: string) => void>();
  const find = settingsCache(asked as SettingsFunction, { onFailed, ...options }, clock);
  const reported: unknown[] = [];
  const listener = (event: unknown): void => {
    if ((event as { source: string }).source === 'function') reported.push(event);
  };
  subscribe('security-event-delivery:settings-failed', listener);
  onTestFinished(() => void unsubscribe('security-event-delivery:settings-failed', listener));
  /** Looks up, and moves the clock until that settles. */
  const end = (id = 'shop') => clock.runUntilSettled(find(id));
  const code = (id = 'shop'): Promise<unknown> =>
    end(id).catch((error: unknown) => (error as SecurityEventError).code);
  return { clock, asked, onFailed, find, reported, end, code };
}

/** Returns or throws each step in turn, and repeats the last one. */
const script =
  (...steps: readonly unknown[]): Get =>
  () => {
    const step = steps[0];
    if (steps.length > 1) (steps as unknown[]).shift();
    if (step instanceof Error) throw step;
    return step;
  };

const failed = (isKept: boolean, code = 'ERR_SETTINGS_FAILED') => ({
  source: 'function',
  applicationId: 'shop',
  code,
  isKept,
});

describe('a cached result', () => {
  test.each([
    ['30 s', 30_000, {}],
    ['maxAgeMs', 100, { maxAgeMs: 100 }],
  ])('is used for %s, then looked up again', async (_time, ageMs, options) => {
    const { end, asked, clock } = start(script(SHOP, { ...SHOP, name: 'moved' }), options);
    expect(await end()).toEqual(KNOWN);
    await clock.advance(ageMs - 1);
    expect(await end()).toEqual(KNOWN);
    expect(asked).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(await end()).toEqual({ ...KNOWN, name: 'moved' });
    expect(asked.mock.calls).toEqual([['shop'], ['shop']]);
  });

  test('ages from the start of its look-up', async () => {
    const { end, asked, clock } = start(async () => {
      await clock.sleep(1000);
      return SHOP;
    });
    await end();
    await clock.advance(28_999);
    await end();
    expect(asked).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    await end();
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test('is shared by concurrent calls, also with maxAgeMs 0', async () => {
    const { find, clock, asked } = start(
      async () => {
        await clock.sleep(10);
        return SHOP;
      },
      { maxAgeMs: 0 },
    );
    const all = Promise.all([find('shop'), find('shop'), find('shop')]);
    expect(await clock.runUntilSettled(all)).toEqual([KNOWN, KNOWN, KNOWN]);
    expect(asked).toHaveBeenCalledTimes(1);
    await clock.runUntilSettled(find('shop'));
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test('belongs to one application', async () => {
    const { end } = start((id) => ({ ...SHOP, name: id }));
    expect([await end('shop'), await end('constructor')]).toEqual([
      KNOWN,
      { ...KNOWN, name: 'constructor' },
    ]);
  });

  test('is dropped when there are too many, the oldest first', async () => {
    const { end, asked } = start(() => SHOP, { maxApplications: 2 });
    for (const id of ['a', 'b', 'c', 'b', 'c', 'a', 'c', 'b']) await end(id);
    expect(asked.mock.calls.flat()).toEqual(['a', 'b', 'c', 'a', 'b']);
  });

  test('stays when an older look-up of a dropped entry fails', async () => {
    const answers = [new Promise(() => {}), SHOP, SHOP];
    const { find, clock, code, asked } = start(() => answers.shift(), { maxApplications: 1 });
    const first = find('a').catch((error: unknown) => (error as SecurityEventError).code);
    await find('b');
    await find('a');
    await clock.advance(5000);
    expect(await first).toBe('ERR_SETTINGS_FAILED');
    expect(await code('a')).toEqual(KNOWN);
    expect(asked.mock.calls.flat()).toEqual(['a', 'b', 'a']);
  });

  test('that an application is unknown is used for 5 s', async () => {
    const { end, asked, clock } = start(script(undefined, null, SHOP));
    expect(await end()).toBeUndefined();
    await clock.advance(4999);
    expect(await end()).toBeUndefined();
    expect(asked).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(await end()).toBeUndefined();
    await clock.advance(5000);
    expect(await end()).toEqual(KNOWN);
  });

  test('that an application is unknown is used for at most maxAgeMs', async () => {
    const { end, asked, clock } = start(script(undefined), { maxAgeMs: 10 });
    await end();
    await clock.advance(10);
    await end();
    expect(asked).toHaveBeenCalledTimes(2);
  });
});

/** Look-ups that fail. */
const FAILURES: readonly [string, () => unknown, string][] = [
  [
    'throws',
    () => {
      throw DOWN;
    },
    'ERR_SETTINGS_FAILED',
  ],
  ['rejects', () => Promise.reject(DOWN), 'ERR_SETTINGS_FAILED'],
  ['answers what is no application', () => ({ ...SHOP, url: 7 }), 'ERR_INVALID_OPTION'],
  ['does not answer in time', () => new Promise(() => {}), 'ERR_SETTINGS_FAILED'],
];

describe.each(FAILURES)('while the function %s', (_what, fail, code) => {
  const first = (steps: number) => {
    let asked = 0;
    return () => {
      asked += 1;
      return asked <= steps ? SHOP : fail();
    };
  };

  test('the last good result is used, and each failure is reported', async () => {
    const { end, reported, onFailed, clock, asked } = start(first(1));
    await end();
    await clock.advance(30_000);
    expect(await end()).toEqual(KNOWN);
    expect(reported).toEqual([failed(true, code)]);
    expect(onFailed.mock.calls).toEqual([[expect.objectContaining({ code }), 'shop']]);
    await clock.advance(4999);
    expect(await end()).toEqual(KNOWN);
    expect(asked).toHaveBeenCalledTimes(2);
    await clock.advance(1);
    expect(await end()).toEqual(KNOWN);
    expect([asked.mock.calls.length, reported.length]).toEqual([3, 2]);
    expect(inspect(reported)).not.toContain('hunter2');
  });

  test.each([
    ['an hour', 3_600_000, {}],
    ['maxStaleMs', 90_000, { maxStaleMs: 90_000 }],
  ])('it is used for %s from the start of its look-up', async (_time, staleMs, options) => {
    const { code: codeOf, end, clock, reported } = start(first(1), options);
    await end();
    await clock.advance(staleMs - 10_000);
    expect(await end()).toEqual(KNOWN);
    await clock.advance(10_001);
    expect([await codeOf(), reported]).toEqual([code, [failed(true, code), failed(false, code)]]);
  });

  test('without a good result each call rejects and looks up again', async () => {
    const { code: codeOf, clock, asked, reported } = start(first(0));
    expect([await codeOf(), await codeOf()]).toEqual([code, code]);
    expect(asked).toHaveBeenCalledTimes(2);
    expect(reported).toEqual([failed(false, code), failed(false, code)]);
    expect(clock.pending).toBe(0);
  });
});

describe('a function', () => {
  test('that does not answer times out after 5 s', async () => {
    const { find, clock } = start(() => new Promise(() => {}));
    const asking = find('shop').catch((error: unknown) => error);
    await clock.advance(4999);
    expect(clock.nextTimerInMs).toBe(1);
    const error = await clock.runUntilSettled(asking);
    expect(error).toMatchObject({
      code: 'ERR_SETTINGS_FAILED',
      path: ['settings', 'applications', 'shop'],
      cause: new Error('no answer within 5 s'),
    });
  });

  test('may answer after the deadline: the result is used', async () => {
    const { end, code, clock, asked } = start(async () => {
      await clock.sleep(6000);
      return SHOP;
    });
    expect(await code()).toBe('ERR_SETTINGS_FAILED');
    await clock.advance(1000);
    expect(await end()).toEqual(KNOWN);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  test('that answers late does not overwrite a newer result', async () => {
    const waits = [20_000, 0];
    const names = ['older', 'newer'];
    const { end, code, clock } = start(async () => {
      const name = names.shift();
      await clock.sleep(waits.shift() ?? 0);
      return { ...SHOP, name };
    });
    expect(await code()).toBe('ERR_SETTINGS_FAILED');
    expect(await end()).toMatchObject({ name: 'newer' });
    await clock.advance(20_000);
    expect(await end()).toMatchObject({ name: 'newer' });
  });

  test('that fails never makes an application unknown', async () => {
    const { end, code, clock } = start(script(undefined, DOWN));
    await end();
    await clock.advance(5000);
    expect(await code()).toBe('ERR_SETTINGS_FAILED');
  });

  test('may fail while onFailed rejects or throws', async () => {
    const { listen: onFailed, caught } = rejectingListener();
    const rejecting = start(script(DOWN), { onFailed });
    expect(await rejecting.code()).toBe('ERR_SETTINGS_FAILED');
    expect(caught()).toBe(1);
    const throwing = start(script(DOWN), {
      onFailed: () => {
        throw new Error('of the host');
      },
    });
    expect(await throwing.code()).toBe('ERR_SETTINGS_FAILED');
  });
});

test('the function is called outside the request, since all callers share the result', async () => {
  const requests = new AsyncLocalStorage<string>();
  const { find, asked } = start(() => {
    expect(requests.getStore()).toBeUndefined();
    return SHOP;
  });
  expect(await requests.run('a request', () => find('shop'))).toEqual(KNOWN);
  expect(asked).toHaveBeenCalledTimes(1);
});

test('a sender does not validate cached results again', async () => {
  const find = settingsCache(() => SHOP);
  expect(await createSettings(find).find('shop')).toBe(await find('shop'));
});

test.each([
  ['a failure', DOWN, { code: 'ERR_SETTINGS_FAILED', cause: DOWN }],
  [
    'an invalid result',
    { ...SHOP, url: null },
    { code: 'ERR_INVALID_OPTION', path: ['settings', 'applications', 'shop', 'url'] },
  ],
])('%s has the same error as without a cache', async (_what, step, expected) => {
  const cached = settingsCache(script(step) as SettingsFunction);
  const { find } = createSettings(cached);
  const errorOf = async () => await Promise.resolve(find('shop')).catch((error: unknown) => error);
  const [one, other] = await Promise.all([errorOf(), errorOf()]);
  expect([one, other]).toMatchObject([expected, expected]);
  // Each caller sets its own input.
  expect(one).not.toBe(other);
});

test.each<[unknown, unknown, string]>([
  ['no function', {}, 'get'],
  [() => SHOP, { maxAgeMs: -1 }, 'maxAgeMs'],
  [() => SHOP, { maxStaleMs: 0.5 }, 'maxStaleMs'],
  [() => SHOP, { deadlineMs: 0 }, 'deadlineMs'],
  [() => SHOP, { maxApplications: 0 }, 'maxApplications'],
  [() => SHOP, { onFailed: 'x' }, 'onFailed'],
  [() => SHOP, { maxAge: 1 }, 'maxAge'],
])('an invalid argument is refused at once (%#)', (get, options, path) => {
  expect(() => settingsCache(get as () => undefined, options as SettingsCacheOptions)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [path] }),
  );
});
