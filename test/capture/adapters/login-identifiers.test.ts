import { describe, expect, test } from 'vitest';
import {
  identifiersOfUser,
  triedIdentifiers,
} from '../../../src/capture/adapters/login-identifiers.ts';
import { createRedactor } from '../../../src/capture/redaction/redactor.ts';

class Account {
  readonly #id = 7;

  get id(): string {
    return String(this.#id);
  }
}

describe('identifiersOfUser', () => {
  test.each([
    [
      { id: 7, uid: 'u', email: 'a@b', username: 'ada', login: 'al', password: 'x', name: 'Ada' },
      { id: 7, uid: 'u', email: 'a@b', username: 'ada', login: 'al' },
    ],
    [
      { id: 0, uid: false, email: '' },
      { id: 0, uid: false },
    ],
    [{ id: 7n, uid: Number.NaN }, { id: '7' }],
    [{ id: { $oid: 'f' }, email: ['a@b'], username: null }, null],
    [new Account(), { id: '7' }],
    ['ada', { id: 'ada' }],
    [null, null],
    ['', null],
  ])('of %o are %o', (user, identifiers) => {
    expect(identifiersOfUser(user)).toEqual(identifiers);
  });
});

describe('triedIdentifiers', () => {
  const redactor = createRedactor();
  const tried = (body: unknown, field?: unknown, query?: unknown): unknown =>
    triedIdentifiers([body, query], field, redactor);

  test.each<[string, unknown, unknown, unknown]>([
    ['the strategy’s field', { nick: 'ada', email: 'a@b' }, 'nick', { nick: 'ada' }],
    ['a field within', { user: { email: 'a@b' } }, 'user[email]', { email: 'a@b' }],
    ['the first of the usual ones', { login: 'al', email: 'a@b' }, undefined, { email: 'a@b' }],
    ['a number', { username: 7 }, 'username', { username: 7 }],
    ['nothing but text and numbers', { username: ['ada'] }, 'username', null],
    ['nothing empty', { username: '' }, 'username', null],
    ['nothing without a body', undefined, 'username', null],
    ['nothing inherited', Object.create({ username: 'ada' }), 'username', null],
    ['no secret field', { token: 'abc' }, 'token', null],
    ['no field within a secret', { password: { name: 'abc' } }, 'password[name]', null],
    ['no card', { username: 4_111_111_111_111_111 }, 'username', null],
    ['cleaned text', { username: 'a\nb' }, 'username', { username: 'a␊b' }],
    [
      'what is not secret',
      { username: `Bearer ${'x'.repeat(40)}` },
      'username',
      { username: 'Bearer [redacted]' },
    ],
    ['text that is cut', { username: 'n'.repeat(257) }, 'username', { username: 'n'.repeat(256) }],
  ])('are %s', (_what, body, field, identifiers) => {
    expect(tried(body, field)).toEqual(identifiers);
  });

  test('are read from the query if the body has none', () => {
    expect(tried({}, 'username', { username: 'ada' })).toEqual({ username: 'ada' });
    expect(tried({ username: 'body' }, 'username', { username: 'ada' })).toEqual({
      username: 'body',
    });
  });
});
