/** Finds the identifiers of a user who logged in, or the name in a failed login. */
import { readProperty } from '../../own-properties.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { type Identifiers, identifierOf } from '../request/identifiers.ts';
import { fitText } from '../request/request-text.ts';

type KnownIdentifiers = NonNullable<Identifiers>;

/** In UTF-16 code units: an attacker may send a name of a megabyte. */
const MAX_NAME_LENGTH = 256;

const USER_KEYS = ['id', 'uid', 'email', 'username', 'login'];
const FORM_FIELDS = ['username', 'email', 'login'];

/**
 * Returns the user's `id`, `uid`, `email`, `username` and `login` that are text, numbers or booleans. A
 * user that is itself a text, number or boolean is the `id`. Default of `identifiersOf`.
 */
export function identifiersOfUser(user: unknown): KnownIdentifiers | null {
  const id = nonEmptyIdentifier(user);
  if (id !== undefined) return { id };
  if (typeof user !== 'object' || user === null) return null;
  const known: KnownIdentifiers = {};
  for (const name of USER_KEYS) {
    const value = nonEmptyIdentifier(readProperty(user, name));
    if (value !== undefined) known[name] = value;
  }
  return Object.keys(known).length === 0 ? null : known;
}

const nonEmptyIdentifier = (value: unknown): KnownIdentifiers[string] | undefined =>
  value === '' ? undefined : identifierOf(value);

/**
 * Returns the name that was tried, from the body or the query, as passport-local reads it: from the
 * strategy's field, else from the usual ones. Skips fields that could hold a secret.
 */
export function triedIdentifiers(
  sources: readonly unknown[],
  field: unknown,
  redactor: Redactor,
): KnownIdentifiers | null {
  const fields = typeof field === 'string' ? [field] : FORM_FIELDS;
  for (const path of fields.map(pathOf)) {
    const name = path.at(-1) ?? '';
    if (path.some((part) => redactor.isSensitiveKey(part))) continue;
    for (const source of sources) {
      const value = fittedName(valueAt(source, path), redactor);
      if (value !== undefined) return { [name]: value };
    }
  }
  return null;
}

function fittedName(value: unknown, redactor: Redactor): string | number | undefined {
  if (typeof value === 'number') return redactor.isSecretNumber(value) ? undefined : value;
  return typeof value === 'string' && value !== ''
    ? fitText(value, MAX_NAME_LENGTH, redactor).text
    : undefined;
}

/** passport-local's options allow `user[email]`. */
const pathOf = (field: string): readonly string[] => field.replaceAll(']', '').split('[');

function valueAt(source: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (value: unknown, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? Reflect.get(value, part)
        : undefined,
    source,
  );
}
