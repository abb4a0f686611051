/** Pollutes `Object.prototype` with keys, which every object then inherits. */
import { SAMPLES } from '../contract/samples.ts';
import { sources } from '../helpers/package-files.ts';

export interface Pollution {
  readonly names: readonly string[];
  readonly value: unknown;
}

/** The names of options, fields, parameters and properties that the sources declare or ask for. */
const DECLARED = [...sources]
  .filter(([path]) => !path.startsWith('cli/') && !path.endsWith('.generated.ts'))
  .flatMap(([, text]) => [
    ...text.matchAll(/^\s+(?:readonly )?(\w+)\??[:;(]/gm),
    ...text.matchAll(/'(\w+)' in\b/g),
    // Headers.
    ...text.matchAll(/'([a-z]+(?:-[a-z]+)+)'/g),
  ])
  .map(([, name = '']) => name);

const keysWithin = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, part]) => [key, ...keysWithin(part)])
    : [];

/** Names that zod, pino and Node look up, and names that users, records and modules may have. */
const FURTHER =
  `evil isAdmin email username login uid date_occured def check checks pattern minimum maximum
  _zod inst abort when issues errors then toJSON nestedKey msgPrefix mixin crlf mixinMergeStrategy
  transport log logMethod setHeader method socket customLevels serializers formatters hooks redact
  base level levels messageKey errorKey timestamp fatal`.split(/\s+/);

/** The language reads these from property descriptors, iterators and arrays: no code can run with them. */
const OF_THE_LANGUAGE = /^(?:get|set|writable|configurable|enumerable|return|\d+)$/;

export const NAMES: readonly string[] = [
  // pino recognises errors by the empty name.
  ...new Set(['', ...DECLARED, ...keysWithin(SAMPLES), ...FURTHER]),
].filter((name) => !OF_THE_LANGUAGE.test(name) && !Object.hasOwn(Object.prototype, name));

const POLLUTED: object = Object.prototype;

const restore = (names: readonly string[]): void => {
  for (const name of names) Reflect.deleteProperty(POLLUTED, name);
};

function pollute({ names, value }: Pollution, enumerable = true): void {
  const property = { __proto__: null, value, enumerable, writable: true, configurable: true };
  for (const name of names) Object.defineProperty(POLLUTED, name, property);
}

/**
 * Unused keys that are not enumerable. V8 makes a prototype fast again after each change, which takes
 * longer the more keys it has, but no longer tries with more than 1020.
 */
const BALLAST: Pollution = {
  names: Array.from({ length: 1100 }, (_, index) => `ballast ${index}`),
  value: undefined,
};

export const loadBallast = (): void => pollute(BALLAST, false);
export const dropBallast = (): void => restore(BALLAST.names);

/** Each runs all microtasks and ticks that are due. More are needed by nothing that does no I/O. */
const TICKS = 200;

/**
 * Runs `act` between `start` and `end`. Waits for a promise, but never lets a turn of the event loop
 * pass: the timers and messages of the test runner must not meet the pollution.
 */
function between<T>(start: () => void, act: () => T, end: () => void): T {
  let isOver = true;
  try {
    start();
    const given = act();
    if (!(given instanceof Promise)) return given;
    isOver = false;
    return waitFor(given, end) as T;
  } finally {
    if (isOver) end();
  }
}

async function waitFor<T>(promise: Promise<T>, end: () => void): Promise<T> {
  const state = { isSettled: false };
  const settle = () => {
    state.isSettled = true;
  };
  promise.then(settle, settle);
  for (let tick = 0; tick < TICKS && !state.isSettled; tick += 1) {
    await new Promise((resolve) => process.nextTick(resolve));
  }
  end();
  return promise;
}

export const whilePolluted = <T>(pollution: Pollution, act: () => T): T =>
  between(
    () => pollute(pollution),
    act,
    () => restore(pollution.names),
  );

/** Adds to `found` those of the names that `act` looks up on Object.prototype in vain. */
export function whileWatched<T>(names: readonly string[], found: Set<string>, act: () => T): T {
  const watch = (name: string) => ({
    __proto__: null,
    configurable: true,
    enumerable: true,
    get: () => void found.add(name),
    // An assignment makes an own property, as it does without this accessor.
    set(this: object, value: unknown) {
      const property = {
        __proto__: null,
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      };
      Object.defineProperty(this, name, property);
    },
  });
  const watches = names.map((name) => [name, watch(name)] as const);
  const start = () => {
    for (const [name, descriptor] of watches) {
      Object.defineProperty(POLLUTED, name, descriptor);
    }
  };
  return between(start, act, () => restore(names));
}
