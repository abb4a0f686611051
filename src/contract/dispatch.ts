/**
 * A union that chooses its branch by the input, so that errors refer to the intended branch.
 *
 * zod's `discriminatedUnion` accepts no template literals and needs one key with literal values; the
 * contract has `svc.ev0.threat.vulnerability_exploit.<suffix>`, `injection_<word>`, unknown message types,
 * and objects that are empty or complete. The result is a real `ZodUnion` (inference, `options`, JSON
 * Schema) that chooses its branch itself.
 */
import * as z from 'zod';

type Options = readonly z.core.SomeType[];

/** Index of the branch; or, if the input chooses none, the key that chooses it and its valid words. */
export type Choice = number | { readonly key: string; readonly words: readonly string[] };

interface DispatchDef<T extends Options = Options> extends z.core.$ZodUnionDef<T> {
  choose: (input: unknown) => Choice;
}

/** See {@link dispatch}. */
export interface ZodDispatch<T extends Options = Options> extends z.ZodUnion<T> {}

function refuse(
  payload: z.core.ParsePayload,
  choice: Exclude<Choice, number>,
  inst: z.core.$ZodType,
): void {
  const { value } = payload;
  if (!isObject(value)) {
    payload.issues.push({ code: 'invalid_type', expected: 'object', input: value, inst });
    return;
  }
  payload.issues.push({
    code: 'invalid_value',
    values: [...choice.words],
    input: value[choice.key],
    path: [choice.key],
    inst,
  });
}

const ZodDispatch = /*@__PURE__*/ z.core.$constructor<ZodDispatch, DispatchDef>(
  'SecurityEventDispatch',
  (inst, def) => {
    // Typed loosely: ZodUnion's own `init` requires `~standard`, which the type of the options lacks.
    const base: { init(inst: unknown, def: unknown): void } = z.ZodUnion;
    base.init(inst, def);
    inst._zod.parse = (payload, ctx) => {
      const choice = def.choose(payload.value);
      if (typeof choice === 'number') {
        return (def.options[choice] as z.core.$ZodType)._zod.run(payload, ctx);
      }
      refuse(payload, choice, inst);
      return payload;
    };
  },
);

/** Creates a union of `options` in which `choose` returns the branch. */
export function dispatch<const T extends Options>(
  choose: (input: unknown) => Choice,
  options: T,
): ZodDispatch<T> {
  return new ZodDispatch({ type: 'union', options, choose }) as ZodDispatch<T>;
}

/** Chooses by the word in `key`: its index, or for another text what `branchOf` returns. */
export function byWord(
  key: string,
  words: readonly string[],
  branchOf: (text: string) => number | undefined = () => undefined,
): (input: unknown) => Choice {
  const indexes: ReadonlyMap<unknown, number> = new Map(words.map((word, index) => [word, index]));
  return (input) => {
    const found = isObject(input) ? input[key] : undefined;
    const known = indexes.get(found);
    if (known !== undefined) return known;
    return (typeof found === 'string' ? branchOf(found) : undefined) ?? { key, words };
  };
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns whether `input` is an object with a value under one of `keys`. */
export function hasAny(input: unknown, keys: readonly string[]): boolean {
  if (!isObject(input)) return false;
  for (const key of keys) if (input[key] !== undefined) return true;
  return false;
}
