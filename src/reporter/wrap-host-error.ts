/** What the caller's own code throws, as an error of ours, in whose message nothing of it stands. */
import {
  ERROR_TABLE,
  type ErrorDetails,
  SecurityEventError,
  type SecurityEventErrorCode,
} from '../errors.ts';

/**
 * `thrown` itself where it is one of ours; by its own code where it is one of another copy of this
 * library, across which `instanceof` does not work; else by `code` and `details`.
 */
export function wrapHostError(
  thrown: unknown,
  code: SecurityEventErrorCode,
  details: Omit<ErrorDetails, 'cause'> = {},
): SecurityEventError {
  if (thrown instanceof SecurityEventError) return thrown;
  const { input } = details;
  const theirs = ofAnotherCopy(thrown);
  if (theirs === undefined) return new SecurityEventError(code, { ...details, cause: thrown });
  return new SecurityEventError(theirs.code, { path: theirs.path, input, cause: thrown });
}

interface Theirs {
  readonly code: SecurityEventErrorCode;
  readonly path: readonly PropertyKey[];
}

/** By its name too: Node has codes like ours, `ERR_INVALID_URL` for one. */
function ofAnotherCopy(thrown: unknown): Theirs | undefined {
  try {
    const { name, code, path } = thrown as Partial<SecurityEventError>;
    if (name !== 'SecurityEventError' || !isCode(code)) return undefined;
    return { code, path: Array.isArray(path) ? [...path].filter(isKey) : [] };
  } catch {
    // A getter or a proxy of the caller's, or nothing at all.
    return undefined;
  }
}

const isCode = (code: unknown): code is SecurityEventErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERROR_TABLE, code);

const isKey = (key: unknown): key is PropertyKey =>
  typeof key === 'string' || typeof key === 'number' || typeof key === 'symbol';
