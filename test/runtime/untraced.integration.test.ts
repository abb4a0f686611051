import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { isOwnWork, untraced } from '../../src/runtime/untraced.ts';
import { fixtureCommand, runProgram } from '../helpers/child-programs.ts';
import { root } from '../helpers/package-files.ts';
import { removeTracers, setTracers } from '../helpers/replaced-globals.ts';

const SUPPRESSED = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING');
const ignore = (): void => {};
const boom = (): never => {
  throw new Error('of a tracer');
};

async function nowAndLater<T>(read: () => T): Promise<T[]> {
  const now = read();
  await nextTurn();
  return [now, read()];
}

interface Context {
  readonly values: Map<symbol, unknown>;
  readonly setValue: (key: symbol, value: unknown) => Context;
}

const context = (values: Map<symbol, unknown>): Context => ({
  values,
  setValue: (key, value) => context(new Map([...values, [key, value]])),
});

/** A minimal context manager, and whether tracing is suppressed in its context. */
function minimalOtel() {
  const contexts = new AsyncLocalStorage<Map<symbol, unknown>>();
  const isSuppressed = () => contexts.getStore()?.get(SUPPRESSED);
  const manager = {
    active: () => context(contexts.getStore() ?? new Map<symbol, unknown>()),
    with: ({ values }: Context, work: () => void) => contexts.run(values, work),
  };
  return { contexts, isSuppressed, otel: { context: manager } };
}

/** Binds a store to a channel as dd-trace does. */
function datadogStore(name = 'apm:net:tcp:start') {
  const store = new AsyncLocalStorage<{ noop?: boolean }>();
  const bound = channel(name);
  bound.bindStore(store);
  onTestFinished(() => void bound.unbindStore(store));
  return store;
}

afterEach(removeTracers);

describe('our own work', () => {
  test('is recognised, also later; other work is not', async () => {
    const later = untraced(async () => {
      expect(isOwnWork()).toBe(true);
      await nextTurn();
      return isOwnWork();
    });
    expect(isOwnWork()).toBe(false);
    expect(await later).toBe(true);
  });

  test('runs once and returns its result or throws its error', async () => {
    const { otel } = minimalOtel();
    setTracers({ otel, datadog: {} });
    datadogStore();
    let runs = 0;
    expect(untraced(() => (runs += 1))).toBe(1);
    const own = new Error('of the work');
    const failing = (): never => {
      runs += 1;
      throw own;
    };
    expect(() => untraced(failing)).toThrow(own);
    await expect(untraced(async () => failing())).rejects.toBe(own);
    expect(runs).toBe(3);
  });

  test('keeps no request in memory while it runs, unlike a timer of the host', async () => {
    const [, ...command] = fixtureCommand('request-store-leak');
    const run = await runProgram(['--expose-gc', ...command], { cwd: root });
    expect(run).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: JSON.stringify({ kept: ['a timer of the host'], held: 5 }),
    });
  });
});

describe('with OpenTelemetry', () => {
  test('tracing is suppressed within, and only there', async () => {
    const { contexts, isSuppressed, otel } = minimalOtel();
    setTracers({ otel });
    const later = contexts.run(new Map(), () => {
      const inside = untraced(() => nowAndLater(isSuppressed));
      expect(isSuppressed()).toBeUndefined();
      return inside;
    });
    expect(await later).toEqual([true, true]);
  });

  test.each<[string, object]>([
    ['has no context manager', {}],
    ['throws instead of returning its context', { context: { active: boom } }],
    ['has contexts of another kind', { context: { active: () => ({}) } }],
    ['fails before the work', { context: { active: () => ({ setValue: boom }), with: boom } }],
    [
      'does not run the work',
      { context: { active: () => ({ setValue: () => ({}) }), with: () => {} } },
    ],
    [
      'runs the work twice and fails',
      {
        context: {
          active: () => ({ setValue: () => ({}) }),
          with: (_context: object, work: () => void) => {
            work();
            work();
            boom();
          },
        },
      },
    ],
  ])('the work runs once if it %s', (_title, otel) => {
    setTracers({ otel });
    let runs = 0;
    expect(untraced(() => (runs += 1))).toBe(1);
    expect(runs).toBe(1);
  });
});

describe('with dd-trace', () => {
  test.each([
    'tracing:apm:undici:fetch:start',
    'apm:net:tcp:start',
    'apm:dns:lookup:start',
    'apm:http:client:request:start',
  ])('the store that it binds to %s is set to noop within the work only', async (name) => {
    const store = datadogStore(name);
    setTracers({ datadog: {} });
    const own = { noop: false };
    const later = store.run(own, () => {
      const inside = untraced(() => nowAndLater(() => store.getStore()));
      expect(store.getStore()).toBe(own);
      return inside;
    });
    expect(await later).toEqual([{ noop: true }, { noop: true }]);
  });

  test('the work runs if no store is bound to the channel', () => {
    setTracers({ datadog: {} });
    expect(untraced(() => 'run')).toBe('run');
    const subscribed = channel('apm:net:tcp:start');
    subscribed.subscribe(ignore);
    onTestFinished(() => {
      subscribed.unsubscribe(ignore);
    });
    expect(untraced(() => 'run')).toBe('run');
  });

  test('the work runs if Node stores bound stores differently', () => {
    setTracers({ datadog: {} });
    const store = datadogStore();
    const bound = channel('apm:net:tcp:start');
    const stores: unknown = Reflect.get(bound, '_stores');
    Reflect.set(bound, '_stores', undefined);
    expect(untraced(() => ['run', store.getStore()])).toEqual(['run', undefined]);
    Reflect.set(bound, '_stores', stores);
    expect(untraced(() => store.getStore())).toEqual({ noop: true });
  });

  test('the work runs once, in the first bound value that is a store', () => {
    const bound = channel('apm:net:tcp:start');
    const nothing = { run: boom };
    bound.bindStore(nothing as never);
    onTestFinished(() => void bound.unbindStore(nothing as never));
    const store = datadogStore();
    setTracers({ datadog: {} });
    expect(untraced(() => store.getStore())).toEqual({ noop: true });
  });
});
