import { describe, expect, test } from 'vitest';
import type { SecurityEventError } from '../../../src/errors.ts';
import { failure } from '../../../src/queue/postgres/failure.ts';

const thrown = (code: string | undefined, message = 'why'): SecurityEventError =>
  failure(Object.assign(new Error(message), code === undefined ? {} : { code }));

describe('an error of PostgreSQL', () => {
  test.each([
    ['53200', 'PostgreSQL answered 53200. '],
    ['53300', 'answered 53300: the server has no free connection, lower maxConnections'],
    ['42501', 'answered 42501: the user lacks rights, grant usage of the schema'],
    ['28000', 'answered 28000: the login was refused, check user and password'],
    ['28P01', 'answered 28P01: the login was refused'],
    ['3D000', 'answered 3D000: the database does not exist'],
    ['42P01', 'answered 42P01: the schema is missing'],
    ['42883', 'the schema is missing'],
    ['3F000', 'the schema is missing'],
    ['08P01', '08P01: behind a proxy that pools transactions set transactionPooling: true'],
    ['08P01', 'if it is set, the proxy reaches no server or database'],
    ['42P05', 'answered 42P05: behind a proxy'],
    ['26000', 'answered 26000: behind a proxy'],
    ['EPIPE', 'no connection (EPIPE)'],
    ['ECONNREFUSED', 'no connection (ECONNREFUSED)'],
    [undefined, 'PostgreSQL did not answer'],
  ])('of code %s has a message that says what to do', (code, text) => {
    const error = thrown(code);
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED', cause: { message: 'why' } });
    expect(error.message).toContain(text);
    expect((error.cause as { code?: string }).code).toBe(code);
  });

  test.each([
    [
      'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
      'asks for a password, give it in the connection',
    ],
    ['The server does not support SSL connections', 'has no TLS, enable it there'],
  ])('without a code says what to do: %s', (message, text) => {
    expect(thrown(undefined, message).message).toContain(text);
  });

  test.each(['22P02', '23505'])(
    'with the code %s loses the value that its message quotes',
    (code) => {
      const { cause } = thrown(code, 'invalid: "payload"');
      expect(cause).toMatchObject({ message: 'a value was refused', code });
    },
  );

  test('about a connection string does not show it', () => {
    const error = failure(
      Object.assign(new Error('Invalid URL'), { code: 'ERR_INVALID_URL', input: 'secret' }),
    );
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', path: ['connection'] });
    expect(error.cause).toBeUndefined();
  });
});
