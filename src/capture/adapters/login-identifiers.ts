/** Who logged in, or who was said to: what may stand in `actor.identifiers` (D10). */
import { readProperty } from '../../own-properties.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { Identifiers } from '../request/request-story.ts';
import { fittedText } from '../request/request-text.ts';

type Known = NonNullable<Identifiers>;

/** In UTF-16 code units; what an attacker tries as a name may be a megabyte. */
const MAX_NAME_LENGTH = 256;

const OF_A_USER = ['id', 'uid', 'email', 'username', 'login'];
const OF_A_FORM = ['username', 'email', 'login'];

/**
 * The default of `identifiersOf`: those of `id`, `uid`, `email`, `username` and `login` that the user
 * has as text, number or boolean. A user that is itself one of these is the `id`.
 */
export function identifiersOfUser(user: unknown): Known | null {
  const whole = scalarOf(user);
  if (whole !== undefined) return { id: whole };
  if (typeof user !== 'object' || user === null) return null;
  const known: Known = {};
  for (const name of OF_A_USER) {
    const value = scalarOf(readProperty(user, name));
    if (value !== undefined) known[name] = value;
  }
  return Object.keys(known).length === 0 ? null : known;
}

function scalarOf(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return typeof value === 'boolean' || (typeof value === 'string' && value !== '')
    ? value
    : undefined;
}

/**
 * The name that was tried, from the body or the query, where passport-local looks for it as well: by
 * the strategy's own field, else by the usual ones. A field that could hold a secret is none.
 */
export function triedIdentifiers(
  sources: readonly unknown[],
  field: unknown,
  redactor: Redactor,
): Known | null {
  const fields = typeof field === 'string' ? [field] : OF_A_FORM;
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
    ? fittedText(value, MAX_NAME_LENGTH, redactor)
    : undefined;
}

/** `user[email]` of passport-local's options. */
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
