/**
 * The attributes of a log platform beside a record (D17, D18). Whatever a platform function does
 * wrong costs its attributes, never the record.
 */
import { copyJson, isPlain, type JsonObject, type JsonValue } from '../contract/json-value.ts';
import { calm } from '../runtime/ignore-rejection.ts';

/** Gives the attributes for one record, which it must not and cannot change. */
export type PlatformFunction<R> = (record: R) => Readonly<Record<string, unknown>>;

export interface PlatformOutcome {
  readonly attributes: JsonObject;
  /** Why attributes are missing; undefined where none is. */
  readonly fault: Error | undefined;
}

// Consumers cannot be relied on to read a key that needs an escape.
const UNFIT_KEY = /["\\\p{Cc}\p{Cs}]|^$|^__proto__$/u;

/** Returns a top-level key that a line cannot carry; undefined where `line` has none. */
export const unfitKey = (line: object): string | undefined =>
  Object.keys(line).find((key) => UNFIT_KEY.test(key));

/** Asks `platform` for the attributes of `record`; never throws. */
export function attributesFor<R extends object>(
  platform: PlatformFunction<R>,
  record: R,
): PlatformOutcome {
  try {
    const answer: unknown = platform(record);
    if (!isPlainObject(answer)) {
      calm(answer);
      return nothing(new Error('expected a plain object of attributes'));
    }
    return pick(answer, record);
  } catch (cause) {
    return nothing(new Error('the platform function threw', { cause }));
  }
}

const nothing = (fault: Error): PlatformOutcome => ({ attributes: {}, fault });

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value);
}

function pick(answer: Readonly<Record<string, unknown>>, record: object): PlatformOutcome {
  const attributes: JsonObject = {};
  let fault: Error | undefined;
  for (const key of Object.keys(answer)) {
    const value = readAttribute(answer, key, record);
    if (value instanceof Error) fault ??= value;
    else if (value !== undefined) attributes[key] = value;
  }
  return { attributes, fault };
}

function readAttribute(
  answer: Readonly<Record<string, unknown>>,
  key: string,
  record: object,
): JsonValue | undefined | Error {
  if (Object.hasOwn(record, key))
    return new Error(`the attribute "${key}" is a field of the record`);
  if (UNFIT_KEY.test(key)) return new Error('an attribute has a name that cannot stand in a line');
  try {
    const value = answer[key];
    if (value === undefined) return undefined;
    const copy = copyJson(value);
    return copy.ok ? copy.value : new Error(`the attribute "${key}" is not JSON: ${copy.message}`);
  } catch (cause) {
    return new Error(`the attribute "${key}" threw when it was read`, { cause });
  }
}
