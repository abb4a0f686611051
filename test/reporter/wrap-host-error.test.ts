import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { wrapHostError } from '../../src/reporter/wrap-host-error.ts';

/** An error of another installed copy of the library: no instance of our class. */
const ofAnotherCopy = (fields: object): Error =>
  Object.assign(new Error('the secret is 1234'), { name: 'SecurityEventError', ...fields });

test('an error of this library is returned unchanged', () => {
  const error = new SecurityEventError('ERR_QUEUE_FULL');
  expect(wrapHostError(error, 'ERR_WRITE_FAILED', { detail: 'other' })).toBe(error);
});

describe('an error of another copy of this library', () => {
  test('is reported by its own code and path, without its text', () => {
    const input = { ruleset: 'xss' };
    const path = ['payload', 0, 'ruleset'];
    const cause = ofAnotherCopy({ code: 'ERR_MESSAGE_TOO_LARGE', path });
    const error = wrapHostError(cause, 'ERR_QUEUE_FAILED', { detail: 'of the host', input });
    expect(error).toBeInstanceOf(SecurityEventError);
    expect(error).toMatchObject({ code: 'ERR_MESSAGE_TOO_LARGE', kind: 'caller', path, cause });
    expect(error.input).toBe(input);
    expect(error.message).toBe(new SecurityEventError('ERR_MESSAGE_TOO_LARGE').message);
  });

  test.each([
    [undefined, []],
    ['payload', []],
    [
      ['payload', {}, Symbol.iterator, null],
      ['payload', Symbol.iterator],
    ],
  ])('has of its path what can be one: %j', (path, reported) => {
    expect(
      wrapHostError(ofAnotherCopy({ code: 'ERR_QUEUE_FULL', path }), 'ERR_WRITE_FAILED').path,
    ).toEqual(reported);
  });
});

test.each([
  ['an error of the host', new Error('the secret is 1234')],
  ['an error of Node with a code like ours', nodeError()],
  ['an unknown code', ofAnotherCopy({ code: 'ERR_OF_THE_FUTURE' })],
  ['a code that every object has', ofAnotherCopy({ code: 'constructor' })],
  ['a code that is no text', ofAnotherCopy({ code: ['ERR_QUEUE_FULL'] })],
  ['a text', 'the secret is 1234'],
  ['nothing', undefined],
  ['null', null],
  ['a proxy whose `get` throws', new Proxy({}, { get: () => nodeError('throw') })],
  ['a proxy that `instanceof` cannot read', new Proxy({}, { getPrototypeOf: fail })],
])('%s is reported by the code of what was done, without its text', (_name, cause) => {
  const input = {};
  const error = wrapHostError(cause, 'ERR_WRITE_FAILED', { detail: 'of the host', input });
  expect(error).toBeInstanceOf(SecurityEventError);
  expect(error.code).toBe('ERR_WRITE_FAILED');
  expect(error.cause).toBe(cause);
  expect(error.input).toBe(input);
  expect(error.message).toContain('of the host');
  expect(error.message).not.toContain('1234');
});

function fail(): never {
  throw new Error('of the proxy');
}

function nodeError(how?: 'throw'): unknown {
  try {
    return new URL('nonsense 1234');
  } catch (error) {
    if (how === 'throw') throw error;
    return error;
  }
}
