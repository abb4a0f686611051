/** Options of request capture as a caller gives them: rules as data, one check that names the fault. */
import { SecurityEventError } from '../errors.ts';

export interface OptionRule {
  readonly expected: string;
  readonly isUsable: (value: unknown) => boolean;
}

export const usable = (expected: string, isUsable: OptionRule['isUsable']): OptionRule => ({
  expected,
  isUsable,
});

export const ONE_OF_BOOLEANS: OptionRule = usable(
  'true or false',
  (value) => typeof value === 'boolean',
);

export const integerFrom = (min: number, max: number): OptionRule =>
  usable(
    `an integer from ${min} to ${max}`,
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  );

export const A_FUNCTION: OptionRule = usable('a function', (value) => typeof value === 'function');

export const listOf = (what: string, isElement: (value: unknown) => boolean): OptionRule =>
  usable(`a list of ${what}`, (value) => Array.isArray(value) && value.every(isElement));

/**
 * A copy without a prototype: what an attack put on Object.prototype must not become an option.
 * `path` is where the options stand in those that the user gave.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function checkOptions<T extends object>(
  given: unknown,
  rules: Readonly<Record<keyof T & string, OptionRule>>,
  path: readonly string[] = [],
): Partial<T> {
  const where = path.join('.') || 'the options';
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidOption(`expected ${where} to be an object`, path);
  }
  const own = Object.assign(Object.create(null) as Partial<T>, given);
  for (const [key, value] of Object.entries<unknown>(own)) {
    const at = [...path, key];
    const rule = Object.hasOwn(rules, key) ? rules[key as keyof T & string] : undefined;
    if (rule === undefined) {
      throw invalidOption(`unknown key ${JSON.stringify(key)} in ${where}`, at);
    }
    if (value !== undefined && !rule.isUsable(value)) {
      throw invalidOption(`expected ${at.join('.')} to be ${rule.expected}`, at);
    }
  }
  return own;
}

export const invalidOption = (detail: string, path: readonly string[]): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
