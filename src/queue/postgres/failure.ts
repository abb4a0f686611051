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

const NO_SCHEMA =
  'the schema is missing, run createPostgresSchema once or the SQL file of the package';

/** The proxy does not keep a setting or prepared statement for a connection. */
const PROXY = 'behind a proxy that pools transactions set transactionPooling: true';

const LOGIN = 'the login was refused, check user and password, and pg_hba.conf of the server';

const ADVICE: Readonly<Record<string, string>> = {
  '3F000': NO_SCHEMA,
  '42P01': NO_SCHEMA,
  '42883': NO_SCHEMA,
  // PgBouncer's own errors have this code, whatever they are about.
  '08P01': `${PROXY}; if it is set, the proxy reaches no server or database`,
  '42P05': PROXY,
  '26000': PROXY,
  '28000': LOGIN,
  '28P01': LOGIN,
  '3D000': 'the database does not exist, create it',
  '42501':
    'the user lacks rights, grant usage of the schema and all rights on its tables and sequences; only the owner can run createPostgresSchema',
  '53300': 'the server has no free connection, lower maxConnections or raise its max_connections',
};

/** By message: the client's errors have no code. */
const CLIENT_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/client password must be/, 'the server asks for a password, give it in the connection'],
  [/does not support SSL/, 'the server has no TLS, enable it there or connect without ssl'],
];

const LOCK_NOT_AVAILABLE = '55P03';

const codeOf = (error: unknown): string | undefined => {
  const code = (error as Failure | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
};

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(codeOf(error) ?? '');

/** With a digit, unlike Node's EPIPE. */
const IS_SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;

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
  return new SecurityEventError('ERR_QUEUE_FAILED', {
    detail: detailOf(error),
    cause: bare(error),
  });
}

function detailOf(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) {
    const { message } = bare(error);
    const [, advice] = CLIENT_ADVICE.find(([about]) => about.test(message)) ?? [];
    return advice ?? 'PostgreSQL did not answer';
  }
  if (!IS_SQLSTATE.test(code)) return `no connection (${code})`;
  const advice = Object.hasOwn(ADVICE, code) ? `: ${ADVICE[code]}` : '';
  return `PostgreSQL answered ${code}${advice}`;
}

/** Messages about values quote them; the client's errors hold connections and queries. */
function bare(error: unknown): Error {
  const code = codeOf(error);
  const isQuoting = code !== undefined && /^(?:22|23)/.test(code);
  const message = isQuoting ? 'a value was refused' : String((error as Failure)?.message);
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
