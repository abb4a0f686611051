/** Calls platform functions for attributes. A faulty function costs attributes, never the record. */
import { copyJson, isPlain, type JsonObject, type JsonValue } from '../contract/json-value.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';

/** Returns the attributes for one record, which is frozen. */
export type PlatformFunction<R> = (record: R) => Readonly<Record<string, unknown>>;

export interface PlatformOutcome {
  readonly attributes: JsonObject;
  /** Why attributes are missing, if any are. */
  readonly fault: Error | undefined;
}

// Some consumers cannot read keys that need an escape.
const UNFIT_KEY = /["\\\p{Cc}\p{Cs}]|^$|^__proto__$/u;

/** Returns the first top-level key that is not allowed in a line, or undefined. */
export const unfitKey = (line: object): string | undefined =>
  Object.keys(line).find((key) => UNFIT_KEY.test(key));

/** Returns the attributes of `record`. Never throws. */
export function attributesFor<R extends object>(
  platform: PlatformFunction<R>,
  record: R,
): PlatformOutcome {
  try {
    const returned: unknown = platform(record);
    if (!isPlainObject(returned)) {
      ignoreRejection(returned);
      return noAttributes(new Error('expected a plain object of attributes'));
    }
    return pick(returned, record);
  } catch (cause) {
    return noAttributes(new Error('the platform function threw', { cause }));
  }
}

const noAttributes = (fault: Error): PlatformOutcome => ({ attributes: {}, fault });

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value);
}

function pick(returned: Readonly<Record<string, unknown>>, record: object): PlatformOutcome {
  const attributes: JsonObject = {};
  let fault: Error | undefined;
  for (const key of Object.keys(returned)) {
    const value = readAttribute(returned, key, record);
    if (value instanceof Error) fault ??= value;
    else if (value !== undefined) attributes[key] = value;
  }
  return { attributes, fault };
}

function readAttribute(
  returned: Readonly<Record<string, unknown>>,
  key: string,
  record: object,
): JsonValue | undefined | Error {
  if (Object.hasOwn(record, key))
    return new Error(`the attribute "${key}" is a field of the record`);
  if (UNFIT_KEY.test(key)) return new Error('an attribute has a name that cannot stand in a line');
  try {
    const value = returned[key];
    if (value === undefined) return undefined;
    const copy = copyJson(value);
    return copy.ok ? copy.value : new Error(`the attribute "${key}" is not JSON: ${copy.message}`);
  } catch (cause) {
    return new Error(`the attribute "${key}" threw when it was read`, { cause });
  }
}
