/** Wraps errors of the host's code. The message never quotes the original error. */
import {
  ERROR_TABLE,
  type ErrorDetails,
  SecurityEventError,
  type SecurityEventErrorCode,
} from '../errors.ts';

/**
 * Returns `thrown` itself if it is a SecurityEventError. An error of another copy of this library, for
 * which `instanceof` does not work, keeps its code; any other gets `code` and `details`.
 */
export const wrapHostError = (
  thrown: unknown,
  code: SecurityEventErrorCode,
  details: Omit<ErrorDetails, 'cause'> = {},
): SecurityEventError =>
  ownError(thrown, details.input) ?? new SecurityEventError(code, { ...details, cause: thrown });

/** Returns undefined for an error of the host. Also compares the name: Node has codes like ours, such as `ERR_INVALID_URL`. */
function ownError(thrown: unknown, input: unknown): SecurityEventError | undefined {
  try {
    if (thrown instanceof SecurityEventError) return thrown;
    const { name, code, path } = thrown as Partial<SecurityEventError>;
    if (name !== 'SecurityEventError' || !isCode(code)) return undefined;
    const keys = Array.isArray(path) ? [...path].filter(isKey) : [];
    return new SecurityEventError(code, { path: keys, input, cause: thrown });
  } catch {
    // A getter or a proxy threw, or `thrown` is null or undefined.
    return undefined;
  }
}

const isCode = (code: unknown): code is SecurityEventErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERROR_TABLE, code);

const isKey = (key: unknown): key is PropertyKey =>
  typeof key === 'string' || typeof key === 'number' || typeof key === 'symbol';
