/** The schemas that are parsed: built at their first parse, so that importing the contract is cheap. */
import * as z from 'zod';
import { addMessage } from './error-messages.ts';
import { inheritedKey, withOwnKeys } from './own-keys.ts';

interface LazySchemaDef<S extends z.ZodType = z.ZodType> extends z.core.$ZodLazyDef<S> {
  getter: () => S;
}

/**
 * A `ZodLazy` that adds our messages, ignores inherited keys and survives a failed build. A build can throw while
 * `Object.prototype` is polluted. zod's own `ZodLazy` then stays marked as being built, so every later record would
 * fail.
 */
const LazySchema = /*@__PURE__*/ z.core.$constructor<z.ZodLazy, LazySchemaDef>(
  'SecurityEventLazy',
  (inst, def) => {
    const base: typeof z.ZodLazy = z.ZodLazy;
    base.init(inst, def);
    inst._zod.parse = (payload, ctx) => {
      payload.value = withOwnKeys(payload.value);
      // No part of our schemas is asynchronous.
      const result = def.getter()._zod.run(payload, ctx) as z.core.ParsePayload;
      result.issues.forEach(addMessage);
      return result;
    };
  },
);

/**
 * Builds the schema at the first parse and keeps it, unless `Object.prototype` is polluted: zod reads settings
 * by name, so an inherited `length` becomes a limit of the schema. Such a schema is dropped when the pollution
 * ends.
 */
export function lazySchema<S extends z.ZodType>(build: () => S): z.ZodLazy<S> {
  return new LazySchema({ type: 'lazy', getter: memoizeUnlessPolluted(build) }) as z.ZodLazy<S>;
}

/** Memoizes a value. A value that was built while `Object.prototype` was polluted is built again afterwards. */
export function memoizeUnlessPolluted<T>(build: () => T): () => T {
  let built: { readonly value: T } | undefined;
  let isSuspect = false;
  return () => {
    if (built === undefined || (isSuspect && inheritedKey() === undefined)) {
      built = { value: build() };
      isSuspect = inheritedKey() !== undefined;
    }
    return built.value;
  };
}
