/** Errors of PostgreSQL and its client, converted to ours without values, which can be payload. */
import { SecurityEventError } from '../../errors.ts';

interface Failure {
  readonly code?: unknown;
  readonly message?: unknown;
}

/**
 * The server did nothing: deadlock, serialization failure, a discarded prepared statement, and a server
 * that has become a standby.
 */
const RETRYABLE = new Set(['40P01', '40001', '26000', '25006']);

/** The schema, a table or a function does not exist. */
const MISSING = new Set(['3F000', '42P01', '42883']);

/** A setting or prepared statement that a proxy does not keep for a connection. */
const PROXIED = new Set(['08P01', '42P05', '26000']);

/** PgBouncer's own errors have this code, whatever they are about. */
const OF_PROXY = '08P01';

const LOCK_NOT_AVAILABLE = '55P03';

const codeOf = (error: unknown): string | undefined => {
  const code = (error as Failure | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
};

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(codeOf(error) ?? '');

const IS_SQLSTATE = /^[0-9A-Z]{5}$/;

const causeCode = (error: unknown): string =>
  error instanceof SecurityEventError ? (codeOf(error.cause) ?? '') : '';

/** The server refused the values of a call, and would do so again. */
export const isAboutValues = (error: unknown): boolean => /^(?:22|23|54)/.test(causeCode(error));

/** A row stayed locked for longer than the function waits. */
export const isLockTimeout = (error: unknown): boolean => causeCode(error) === LOCK_NOT_AVAILABLE;

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
    const hint = 'behind a proxy that pools transactions set transactionPooling: true';
    const more = code === OF_PROXY ? '; if it is set, the proxy reaches no server or database' : '';
    return `PostgreSQL answered ${code}; ${hint}${more}`;
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
