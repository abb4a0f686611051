import { describe, expect, it } from 'vitest';
import { misuse, outage, tellFailure } from '../../src/cli/failure.ts';
import { SecurityEventError } from '../../src/index.ts';

const systemError = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: text of Node's`), { code, syscall: 'open', path });

describe('what a person is told of a failure', () => {
  it.each([
    [
      'a misuse',
      misuse('it is wrong', 'do that'),
      { exitCode: 2, message: 'it is wrong', hint: 'do that' },
    ],
    ['an outage', outage('it is gone'), { exitCode: 3, message: 'it is gone', hint: undefined }],
    [
      'a missing file',
      systemError('ENOENT', 'secret.txt'),
      { exitCode: 3, message: 'secret.txt: no such file or folder' },
    ],
    ['a port in use', systemError('EADDRINUSE'), { exitCode: 3, message: 'the port is in use' }],
    ['another error of Node', systemError('EMFILE'), { exitCode: 3, message: 'EMFILE' }],
  ])('%s', (_, error, expected) => {
    expect(tellFailure(error)).toMatchObject(expected);
  });

  it.each([
    ['ERR_INVALID_OPTION', 2],
    ['ERR_QUEUE_CLOSED', 3],
  ] as const)('%s of the library, with its hint', (code, exitCode) => {
    const error = new SecurityEventError(code, { detail: 'that one' });
    expect(tellFailure(error)).toEqual({ exitCode, message: error.message });
  });

  it.each([
    ['of a file', systemError('ENOENT', 'a\u001B[31m\nb')],
    ['of a command', misuse('a\u001B[31m', 'b\u009B31m')],
    ['of the library', new SecurityEventError('ERR_QUEUE_FAILED', { detail: 'a\u001B]0;x' })],
  ])('no control sequence in what is told %s', (_, error) => {
    const { message, hint = '' } = tellFailure(error);
    expect(message + hint).not.toMatch(/\p{Cc}/u);
    expect(message).toContain('a\\u001b');
  });

  it('of a fault of ours only where it happened: its message may quote what was read', () => {
    const { exitCode, message, hint } = tellFailure(new TypeError('payload is not a function'));
    expect(exitCode).toBe(3);
    expect(message).toMatch(/^an unexpected TypeError\n\s+at /);
    expect(message).not.toContain('payload');
    expect(hint).toContain('report');
  });

  it('of a thrown value that is no error', () => {
    expect(tellFailure('text')).toMatchObject({ exitCode: 3, message: 'an unexpected a throw\n' });
  });
});
