/** What PostgreSQL and its client throw, in our words: without values, which may be payload. */
import { SecurityEventError } from '../../errors.ts';

interface Failure {
  readonly code?: unknown;
  readonly message?: unknown;
}

/**
 * Deadlock and serialization, and a prepared statement that somebody discarded, whose connection is
 * not used again: nothing was done.
 */
const RETRYABLE = new Set(['40P01', '40001', '26000']);

/** No such schema, table or function. */
const MISSING = new Set(['3F000', '42P01', '42883']);

/** A setting or a prepared statement that a connection cannot have that is another one each time. */
const PROXIED = new Set(['08P01', '42P05', '26000']);

const codeOf = (error: unknown): string | undefined => {
  const code = (error as Failure | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
};

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(codeOf(error) ?? '');

const IS_SQLSTATE = /^[0-9A-Z]{5}$/;

/** A code of the server's about the values of a call, which would fail again. */
export const isAboutValues = (error: unknown): boolean =>
  error instanceof SecurityEventError && /^(?:22|23|54)/.test(codeOf(error.cause) ?? '');

export function failure(error: unknown): SecurityEventError {
  if (error instanceof SecurityEventError) return error;
  const code = codeOf(error);
  if (code === 'ERR_INVALID_URL') {
    // Node's error holds the whole text, and with it the password.
    return new SecurityEventError('ERR_INVALID_OPTION', {
      detail: 'expected connection to be a connection string of PostgreSQL',
      path: ['connection'],
    });
  }
  return new SecurityEventError('ERR_QUEUE_FAILED', { detail: detailOf(code), cause: bare(error) });
}

function detailOf(code: string | undefined): string {
  if (code === undefined) return 'PostgreSQL did not answer';
  if (MISSING.has(code)) {
    return 'the schema is missing, run createPostgresSchema once or the SQL file of the package';
  }
  if (PROXIED.has(code)) {
    return `PostgreSQL answered ${code}; behind a proxy that pools transactions set transactionPooling: true`;
  }
  return IS_SQLSTATE.test(code) ? `PostgreSQL answered ${code}` : `no connection (${code})`;
}

/** Messages about values quote them; the client's errors hold connections and queries. */
function bare(error: unknown): Error {
  const code = codeOf(error);
  const isQuoting = code !== undefined && /^(?:22|23)/.test(code);
  const message = isQuoting ? 'a value was refused' : String((error as Failure)?.message);
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
