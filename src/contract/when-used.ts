/** Schemas that are built at their first parse (D0): importing the contract costs its names only. */
import * as z from 'zod';
import { inheritedKey } from './own-keys.ts';

interface WhenUsedDef<S extends z.ZodType = z.ZodType> extends z.core.$ZodLazyDef<S> {
  getter: () => S;
}

// zod's own declarations are looser about optional properties than this project's compiler flags.
const initLazy = (inst: unknown, def: unknown): void => {
  const lazy: z.core.$constructor<z.ZodLazy> = z.ZodLazy;
  lazy.init(inst as z.ZodLazy, def as z.core.$ZodLazyDef);
};

/**
 * A `ZodLazy` that outlives a build that failed. zod's own marks itself as being built, and stays
 * so for ever when the build throws, as it does while `Object.prototype` is polluted: one attack
 * at the wrong moment would have every later record refused.
 */
const WhenUsed = /*@__PURE__*/ z.core.$constructor<z.ZodLazy, WhenUsedDef>(
  'SecurityEventWhenUsed',
  (inst, def) => {
    initLazy(inst, def);
    inst._zod.parse = (payload, ctx) => def.getter()._zod.run(payload, ctx);
  },
);

/**
 * Builds at the first parse, then keeps what was built, unless `Object.prototype` is polluted by
 * then: zod looks for its settings by name, so a `length` that every object inherits is built in as
 * a limit. Such a schema is used no longer than the pollution lasts.
 */
export function whenUsed<S extends z.ZodType>(build: () => S): z.ZodLazy<S> {
  return new WhenUsed({ type: 'lazy', getter: unlessSuspect(build) }) as z.ZodLazy<S>;
}

/** Keeps what it built, but built under pollution no longer than that lasts. */
export function unlessSuspect<T>(build: () => T): () => T {
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
