/** Errors of SQLite, converted to answers of the worker. */
import { describe, expect, test } from 'vitest';
import {
  failureAnswer,
  isBroken,
  isBusy,
  isDiskFull,
} from '../../../src/queue/sqlite/worker/failure.ts';
import { sqliteError } from './sqlite-error.ts';

describe('an error of SQLite', () => {
  test.each([
    [5, 'SQLite reported an error', { isBusy: true }],
    [8, 'the file or its disk is read-only', { isBroken: true }],
    [10, 'the disk reported an error', { isBroken: true }],
    [11, 'sqlite3 /f .recover', {}],
    [13, 'the disk is full', { isDiskFull: true }],
    [14, 'the file cannot be opened', { isBroken: true }],
    [26, 'sqlite3 /f .recover', {}],
    [778, 'the disk is full', { isDiskFull: true }],
    [4874, 'the disk is full', { isDiskFull: true }],
  ])('%i says what to do', (errcode, detail, kinds) => {
    const error = sqliteError(errcode);
    const answer = failureAnswer(error, '/f');
    expect(answer.detail).toContain(detail);
    expect(answer.cause).toEqual({ message: 'a message of SQLite', errcode });
    const found = {
      isBusy: isBusy(error),
      isBroken: isBroken(error),
      isDiskFull: isDiskFull(error),
    };
    expect(found).toEqual({ isBusy: false, isBroken: false, isDiskFull: false, ...kinds });
  });

  test('has no cause when it is not an Error', () => {
    expect(failureAnswer('text', '/f')).toEqual({
      code: 'ERR_QUEUE_FAILED',
      detail: 'SQLite reported an error',
    });
  });
});
