import { describe, expect, it } from 'vitest';
import { describeError, environmentError, usageError } from '../../src/cli/errors.ts';
import { SecurityEventError } from '../../src/index.ts';

const systemError = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: text of Node's`), { code, syscall: 'open', path });

describe('describeError describes', () => {
  it.each([
    [usageError('it is wrong', 'do that'), 2, 'it is wrong', 'do that'],
    [environmentError('it is gone'), 3, 'it is gone', undefined],
    [systemError('ENOENT', 'a'), 3, 'a: no such file or directory', undefined],
    [systemError('ENONE'), 3, 'ENONE', undefined],
  ])('%s', (error, exitCode, message, hint) => {
    expect(describeError(error)).toEqual({ exitCode, message, hint });
  });

  it.each([
    ['ERR_INVALID_OPTION', 2],
    ['ERR_QUEUE_CLOSED', 3],
  ] as const)('%s of the library, without a hint about its API', (code, exitCode) => {
    const error = new SecurityEventError(code, { detail: 'that one' });
    const { message, hint, ...rest } = describeError(error);
    expect(rest).toEqual({ exitCode });
    expect(error.message).toContain(`${message}. `);
    expect(message).toMatch(/: that one$/);
    expect(hint).toBeUndefined();
  });

  it.each([
    ['ERR_INVALID_URL', 'Give an absolute http or https URL without credentials.'],
    [
      'ERR_ADDRESS_REFUSED',
      'Use --network allow-private to reach private addresses. The sender needs the same option.',
    ],
  ] as const)('%s of the library, with a hint for the command line', (code, hint) => {
    expect(describeError(new SecurityEventError(code))).toMatchObject({ hint });
  });

  const LOST = 'If only its answer was lost, the command may have taken effect.';
  it.each([
    ['the schema is missing, run it', 'If the queue has another schema, name it with --schema.'],
    ['PostgreSQL answered 28P01', LOST],
    ['no connection (ECONNREFUSED)', `Is the database reachable? ${LOST}`],
    ['the server did not answer', `Is the database reachable? ${LOST}`],
  ])('a failed queue with a hint that fits: %s', (detail, hint) => {
    const error = new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    const message = `The queue failed: ${detail}`;
    expect(describeError(error)).toEqual({ exitCode: 3, message, hint });
  });

  it('a failed queue behind a proxy, with the option of the command', () => {
    const detail = 'behind a proxy that pools transactions set transactionPooling: true';
    const { message, hint } = describeError(new SecurityEventError('ERR_QUEUE_FAILED', { detail }));
    expect(message).toMatch(/^The queue failed: behind a proxy .* use --transaction-pooling$/);
    expect(hint).toBeUndefined();
  });

  it.each([
    ['a file', systemError('ENOENT', 'a\u001B[31m\nb')],
    ['a command', usageError('a\u001B[31m', 'b\u009B31m')],
    ['the library', new SecurityEventError('ERR_QUEUE_FAILED', { detail: 'a\u001B]0;x' })],
  ])('an error of %s without control sequences', (_, error) => {
    const { message, hint = '' } = describeError(error);
    expect(message + hint).not.toMatch(/\p{Cc}/u);
    expect(message).toContain('a\\u001b');
  });

  it('of the library that ends with a question, without a full stop', () => {
    const error = new SecurityEventError('ERR_INVALID_OPTION', { detail: 'did you mean "url"?' });
    expect(describeError(error).message).toBe('An option is not usable: did you mean "url"?');
  });

  it('a bug only by its place, since its message may quote input', () => {
    const { exitCode, message, hint } = describeError(new TypeError('payload is not a function'));
    expect(exitCode).toBe(3);
    expect(message).toMatch(/^unexpected TypeError\n\s+at /);
    expect(message).not.toContain('payload');
    expect(hint).toContain('report');
  });

  it('a thrown value that is not an error', () => {
    expect(describeError('text')).toMatchObject({ exitCode: 3, message: 'unexpected error' });
  });
});
