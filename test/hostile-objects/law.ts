/**
 * The rule for every public function: an enumerable key on Object.prototype changes nothing that a caller sees.
 * A key that is not enumerable is no attack: only the host's own `Object.defineProperty` creates one.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import {
  dropBallast,
  loadBallast,
  NAMES,
  type Pollution,
  whilePolluted,
  whileWatched,
} from './pollution.ts';

/** Runs something while Object.prototype is polluted, or not. */
export type During = <T>(act: () => T) => T;

export interface Case {
  readonly title: string;
  /** Returns what a caller sees, or a promise of it. */
  readonly run: (during: During) => unknown;
  /** Names that take effect in a package or in the language nevertheless, separated by spaces. */
  readonly gaps: string;
}

/** zod looks these up in its own schemas, checks and issues. */
const OF_ZOD = `_zod aborted check checks code continue def element error inst issues message path
  pattern value values when`;

export const plain = (title: string, run: Case['run']): Case => ({ title, run, gaps: '' });

/** Pollutes during the whole of `act`. */
export const throughout = (title: string, act: () => unknown): Case =>
  plain(title, (during) => during(act));

export const withGaps = (one: Case, more: string): Case => ({
  ...one,
  gaps: `${one.gaps} ${more}`,
});

/** JSON.stringify calls a `toJSON` that it finds, also on Object.prototype. */
export const withJson = (one: Case): Case => withGaps(one, 'toJSON');

/** Where zod builds or runs a schema. */
export const withZod = (one: Case): Case => withGaps(one, OF_ZOD);

/** One of each kind that an option, a field or a function may have. */
const VALUES = ['https://evil.example/', 1, true, false, { evil: true }, () => 'evil'] as const;
const FURTHER_VALUES = ['6.6.6.6', 'open', 0, null, ['evil'], [{}]] as const;

const untouched: During = (act) => act();

/** What a caller sees of an error. */
const seen = (error: unknown): unknown => {
  if (!(error instanceof SecurityEventError)) return { thrown: error };
  const { code, path, issues, message, cause } = error;
  return { code, path, issues, message, cause };
};

async function outcomeOf(run: () => unknown): Promise<unknown> {
  try {
    return { returned: await run() };
  } catch (error) {
    return seen(error);
  }
}

const outcomeDuring = (run: Case['run'], pollution: Pollution): Promise<unknown> =>
  outcomeOf(() => run((act) => whilePolluted(pollution, act)));

const isSame = (one: unknown, other: unknown): boolean => {
  // Stricter than toEqual and far quicker: it compares prototypes, too.
  if (isDeepStrictEqual(one, other)) return true;
  try {
    expect(one).toEqual(other);
    return true;
  } catch {
    return false;
  }
};

async function expectSame({ title, run }: Case, clean: unknown, pollution: Pollution) {
  const outcome = await outcomeDuring(run, pollution);
  if (isSame(outcome, clean)) return;
  const names = pollution.names.slice(0, 20).join(', ');
  expect(outcome, `${title}, with ${names} … = ${String(pollution.value)}`).toEqual(clean);
}

type NamesFor = (names: readonly string[], value: unknown) => string[];

function namesFor({ gaps }: Case): NamesFor {
  const without = new Set(gaps.split(/\s+/));
  return (names, value) =>
    names.filter(
      (name) =>
        !without.has(name) &&
        // It would make a promise of everything, and one that never settles.
        !(name === 'then' && typeof value === 'function'),
    );
}

/** Returns the names that a case looks up in vain: only these, or all that there are, can change it. */
async function lookedUp(one: Case): Promise<string[]> {
  const found = new Set<string>();
  const names = namesFor(one)(NAMES, undefined);
  await outcomeOf(() => one.run((act) => whileWatched(names, found, act)));
  return [...found, 'evil'];
}

async function keepsTheLaw(one: Case): Promise<void> {
  const choose = namesFor(one);
  // What is built at its first use may be built under pollution: see test/contract/lazy-schema.test.ts.
  await outcomeDuring(one.run, { names: ['evil'], value: 1 });
  const clean = await outcomeOf(() => one.run(untouched));
  const found = await lookedUp(one);
  if (quickOrNightly(false, true)) {
    await expectSame(one, clean, { names: choose(NAMES, 1), value: 1 });
  }
  for (const value of VALUES) {
    await expectSame(one, clean, { names: choose(found, value), value });
  }
  const arbitrary = fc.record({
    names: fc.subarray([...NAMES], { minLength: 1, maxLength: 20 }),
    value: fc.oneof(fc.constantFrom(...VALUES, ...FURTHER_VALUES), fc.jsonValue()),
  });
  const property = fc.asyncProperty(arbitrary, ({ names, value }) =>
    expectSame(one, clean, { names: choose(names, value), value }),
  );
  await fc.assert(property, { numRuns: quickOrNightly(2, 300), seed: 7, endOnFailure: true });
  expect(await outcomeOf(() => one.run(untouched))).toEqual(clean);
}

/** `entry`: what a public entry exports. Each of its functions has a case, or takes no object. */
export function unchangedByPollution(
  entry: object,
  cases: Readonly<Record<string, readonly Case[]>>,
  takingNoObjects: readonly string[] = [],
): void {
  test('each public function has a case', () => {
    const functions = Object.entries(entry).filter(([, value]) => typeof value === 'function');
    const covered = [...Object.keys(cases), ...takingNoObjects].toSorted();
    expect(functions.map(([name]) => name).toSorted()).toEqual(covered);
  });

  describe('while Object.prototype is polluted', () => {
    beforeAll(loadBallast);
    afterAll(dropBallast);
    const all = Object.entries(cases).flatMap(([name, list]) =>
      list.map((one) => ({ ...one, title: `${name}${one.title && `, ${one.title},`}` })),
    );
    test.each(all)('$title behaves as without pollution', keepsTheLaw);
  });
}
