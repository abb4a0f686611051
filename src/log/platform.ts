/** Calls the host's function that returns attributes for its log platform. If it fails, only attributes are missing. */
import { isObject } from '../contract/dispatch.ts';
import { deepFreeze } from '../contract/frozen.ts';
import { quoteInLine } from '../contract/json-fragments.ts';
import { copyJson, isPlain, type JsonObject, type JsonValue } from '../contract/json-value.ts';
import { ignoreRejection } from '../runtime/host-calls.ts';

/** Returns the attributes for one record, which is frozen. */
export type PlatformFunction<R> = (record: R) => Readonly<Record<string, unknown>>;

export interface PlatformOutcome {
  readonly attributes: JsonObject;
  /** Why attributes are missing, if any are. */
  readonly error?: Error | undefined;
}

/** Returns the attributes of a record. `record` returns a copy, which the reader may freeze. Never throws. */
export type ReadAttributes = (record: () => JsonObject) => PlatformOutcome;

/** The writer recognises this object, and skips serialising it. */
export const NO_ATTRIBUTES: JsonObject = Object.freeze({});

/** Some consumers cannot read keys that a log line must escape. */
const isUsableKey = (key: string): boolean =>
  key !== '' && key !== '__proto__' && quoteInLine(key) === `"${key}"`;

/** Returns a reader that calls the host's function. */
export function createAttributeReader(
  platform: false | PlatformFunction<JsonObject>,
): ReadAttributes {
  if (platform === false) return () => ({ attributes: NO_ATTRIBUTES });
  return (record) => {
    // Frozen, so that the function cannot change a validated record.
    const frozenRecord = deepFreeze(record());
    try {
      const returned: unknown = platform(frozenRecord);
      if (isObject(returned) && isPlain(returned)) return copyAttributes(returned, frozenRecord);
      ignoreRejection(returned);
      return noAttributes(new Error('expected a plain object of attributes'));
    } catch (cause) {
      return noAttributes(new Error('the platform function threw', { cause }));
    }
  };
}

const noAttributes = (error: Error): PlatformOutcome => ({ attributes: NO_ATTRIBUTES, error });

function copyAttributes(
  returned: Readonly<Record<string, unknown>>,
  record: object,
): PlatformOutcome {
  const attributes: JsonObject = {};
  let error: Error | undefined;
  for (const key of Object.keys(returned)) {
    const value = copyAttribute(returned, key, record);
    if (value instanceof Error) error ??= value;
    else if (value !== undefined) attributes[key] = value;
  }
  return { attributes, error };
}

function copyAttribute(
  returned: Readonly<Record<string, unknown>>,
  key: string,
  record: object,
): JsonValue | undefined | Error {
  if (Object.hasOwn(record, key))
    return new Error(`the attribute "${key}" is a field of the record`);
  if (!isUsableKey(key)) return new Error('an attribute has a name that a log line cannot have');
  try {
    const value = returned[key];
    if (value === undefined) return undefined;
    const copy = copyJson(value);
    return copy.ok ? copy.value : new Error(`the attribute "${key}" is not JSON: ${copy.message}`);
  } catch (cause) {
    return new Error(`the attribute "${key}" threw when it was read`, { cause });
  }
}
