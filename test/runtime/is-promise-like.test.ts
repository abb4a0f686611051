import { expect, test } from 'vitest';
import { isPromiseLike } from '../../src/runtime/is-promise-like.ts';
import { sources } from '../helpers/package-files.ts';
import { withOtherPromise } from '../helpers/promises.ts';

const then = (): void => {};
const asynchronous = async (): Promise<void> => {};
const having = (value: unknown, on: object): object => {
  Reflect.set(on, 'then', value);
  return on;
};

test('whatever has a function `then` is to be waited for, and nothing else', () => {
  const waitedFor = [Promise.resolve(1), having(then, {}), having(then, () => {})];
  expect(waitedFor.map(isPromiseLike)).toEqual([true, true, true]);
  const others = [undefined, null, 0, 'then', then, {}, having(true, {}), [then]];
  expect(others.map(isPromiseLike)).toEqual(others.map(() => false));
});

test('what an async function gives is, also where the global Promise is another one', async () => {
  const found = await withOtherPromise(async () => {
    const given = asynchronous();
    return { isOfTheOther: given instanceof Promise, isPromiseLike: isPromiseLike(given) };
  });
  expect(found).toEqual({ isOfTheOther: false, isPromiseLike: true });
});

test('no source asks by `instanceof`, but where zod does so of its own results', () => {
  const asking = [...sources].filter(([, text]) => /instanceof Promise\b/.test(text));
  const others = asking.filter(([path]) => !path.startsWith('contract/'));
  expect(others.map(([path]) => path)).toEqual([]);
});
