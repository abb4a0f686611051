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
export function wrapHostError(
  thrown: unknown,
  code: SecurityEventErrorCode,
  details: Omit<ErrorDetails, 'cause'> = {},
): SecurityEventError {
  if (thrown instanceof SecurityEventError) return thrown;
  const { input } = details;
  const foreign = fromAnotherCopy(thrown);
  if (foreign === undefined) return new SecurityEventError(code, { ...details, cause: thrown });
  return new SecurityEventError(foreign.code, { path: foreign.path, input, cause: thrown });
}

interface ForeignError {
  readonly code: SecurityEventErrorCode;
  readonly path: readonly PropertyKey[];
}

/** Also compares the name: Node has codes like ours, such as `ERR_INVALID_URL`. */
function fromAnotherCopy(thrown: unknown): ForeignError | undefined {
  try {
    const { name, code, path } = thrown as Partial<SecurityEventError>;
    if (name !== 'SecurityEventError' || !isCode(code)) return undefined;
    return { code, path: Array.isArray(path) ? [...path].filter(isKey) : [] };
  } catch {
    // A getter or a proxy threw, or `thrown` is null or undefined.
    return undefined;
  }
}

const isCode = (code: unknown): code is SecurityEventErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERROR_TABLE, code);

const isKey = (key: unknown): key is PropertyKey =>
  typeof key === 'string' || typeof key === 'number' || typeof key === 'symbol';
