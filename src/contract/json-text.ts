/**
 * The fast path of writing: one pass over a value that checks it and makes its JSON. Derived from the
 * schemas, which stay the truth: what this file does not know, finds odd or would have to change gives
 * nothing, and the schema judges it (and tells what is wrong). Where it does give a text, that is
 * `JSON.stringify(schema.parse(value))`, character by character, of a process without a `toJSON` on its
 * prototypes; test/contract/json-text.test.ts holds one against the other.
 *
 * Parsing a record with zod and serialising the copy takes twice as long as this pass: it makes no
 * copy, no payload for each field, and looks at every value once.
 */
import type * as z from 'zod';
import type { Form } from './free-form.ts';
import { knownValuesOf, textsOf } from './known-values.ts';
import { type Field, objectOf } from './object-text.ts';
import { inheritedKey } from './own-keys.ts';
import { numberText, scalarText, type TextOf } from './scalar-text.ts';
import { bareOf, quoted, type StringDef } from './string-text.ts';
import { textOfJson } from './text-of-json.ts';
import type { Telling } from './told.ts';

/** What is read of zod's definitions, whichever kind of schema they belong to. */
interface Def extends StringDef {
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly catchall?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly defaultValue?: unknown;
  readonly element?: z.core.$ZodType;
  readonly items?: readonly z.core.$ZodType[];
  readonly rest?: unknown;
  readonly getter?: () => z.core.$ZodType;
  readonly freeForm?: Form;
  readonly telling?: Telling;
}

type Compile = (schema: z.core.$ZodType) => TextOf;

type Maker = (def: Def, compile: Compile, schema: z.core.$ZodType) => TextOf;

const defOf = (schema: z.core.$ZodType): Def => schema._zod.def;

const REFUSE: TextOf = () => undefined;

function fieldOf(key: string, schema: z.core.$ZodType, compile: Compile): Field {
  const def = defOf(schema);
  const isWrapped = def.type === 'optional' || def.type === 'default';
  const held = isWrapped ? def.innerType : schema;
  if (held === undefined || !isPlain(def)) return { ...REFUSED, key };
  const bare = bareOf(held);
  return {
    key,
    text: bare ?? compile(held),
    isBare: bare !== undefined,
    absent: isWrapped ? absentText(def) : undefined,
    telling: def.telling ?? defOf(held).telling,
    known: knownValuesOf(held),
  };
}

const absentText = ({ type, defaultValue }: Def): string | undefined =>
  type === 'optional' ? '' : scalarText(defaultValue);

const REFUSED: Omit<Field, 'key'> = {
  text: REFUSE,
  isBare: false,
  absent: undefined,
  telling: undefined,
  known: undefined,
};

/** Strict objects alone: of others, keys that nobody knows come out as well. */
const objectText: Maker = ({ shape = {}, catchall, checks }, compile) => {
  if (catchall === undefined || defOf(catchall).type !== 'never') return REFUSE;
  if (checks !== undefined && checks.length > 0) return REFUSE;
  return objectOf(Object.entries(shape).map(([key, field]) => fieldOf(key, field, compile)));
};

const arrayText: Maker = ({ element, checks = [] }, compile) => {
  if (element === undefined || checks.length > 0) return REFUSE;
  const textOf = compile(element);
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    let text = '';
    for (let index = 0; index < value.length; index += 1) {
      const told = textOf(value[index]);
      if (told === undefined) return undefined;
      text += index === 0 ? told : `,${told}`;
    }
    return `[${text}]`;
  };
};

const tupleText: Maker = ({ items = [], rest }, compile) => {
  if (rest) return REFUSE;
  const texts = items.map(compile);
  return (value) => {
    if (!Array.isArray(value) || value.length !== texts.length) return undefined;
    let text = '';
    for (let index = 0; index < texts.length; index += 1) {
      const told = texts[index]?.(value[index]);
      if (told === undefined) return undefined;
      text += index === 0 ? told : `,${told}`;
    }
    return `[${text}]`;
  };
};

/** Of our own unions alone, which say what they would choose. */
const unionText: Maker = ({ options = [], choose }, compile) => {
  if (choose === undefined) return REFUSE;
  const texts = options.map(compile);
  return (value, told) => {
    const choice = choose(value);
    return typeof choice === 'number' ? texts[choice]?.(value, told) : undefined;
  };
};

const valuesText: Maker = (_, __, schema) => {
  const texts = textsOf(schema._zod.values);
  // A map takes -0 for 0, as a set does.
  return texts === undefined ? REFUSE : (value) => texts.get(value);
};

const nullableText: Maker = ({ innerType }, compile) => {
  const textOf = innerType === undefined ? REFUSE : compile(innerType);
  return (value) => (value === null ? 'null' : textOf(value));
};

/** What a `whenUsed` holds may be built anew: see there. */
const lazyText: Maker = ({ getter }, compile) => {
  if (getter === undefined) return REFUSE;
  let built: z.core.$ZodType | undefined;
  let textOf = REFUSE;
  return (value, told) => {
    const schema = getter();
    if (schema !== built) {
      built = schema;
      textOf = compile(schema);
    }
    return textOf(value, told);
  };
};

/** Free-form JSON; of other pipes the way is not known. */
const pipeText: Maker = ({ freeForm }) => {
  if (freeForm === undefined) return REFUSE;
  const { accepts, onlyScalars = false } = freeForm;
  const textOf = textOfJson({ onlyScalars, areFit: undefined });
  return (value) => (accepts(value) ? textOf(value) : undefined);
};

const MAKERS: Readonly<Record<string, Maker>> = {
  array: arrayText,
  boolean: () => (value) => (typeof value === 'boolean' ? scalarText(value) : undefined),
  enum: valuesText,
  lazy: lazyText,
  literal: valuesText,
  null: () => (value) => (value === null ? 'null' : undefined),
  nullable: nullableText,
  number: (def, _, schema) => numberText(def, schema),
  object: objectText,
  pipe: pipeText,
  tuple: tupleText,
  union: unionText,
};

/** The kinds whose makers read the checks of a schema; of others nobody would. */
const READ_CHECKS: readonly string[] = ['array', 'number', 'object', 'string'];

const isPlain = ({ type, checks = [] }: Def): boolean =>
  checks.length === 0 || READ_CHECKS.includes(type);

function make(schema: z.core.$ZodType, compile: Compile): TextOf {
  const bare = bareOf(schema);
  if (bare !== undefined) return quoted(bare);
  const def = defOf(schema);
  const maker = Object.hasOwn(MAKERS, def.type) ? MAKERS[def.type] : undefined;
  return isPlain(def) && maker !== undefined ? maker(def, compile, schema) : REFUSE;
}

/**
 * Gives {@link jsonTextOf} of schemas that have parts in common, or are asked for again: what was made
 * for a schema serves wherever it stands, since making it takes a thousand times as long as using it.
 */
export function jsonTexts(): Compile {
  const made = new WeakMap<z.core.$ZodType, TextOf>();
  const compile: Compile = (schema) => {
    const textOf = made.get(schema) ?? make(schema, compile);
    made.set(schema, textOf);
    return textOf;
  };
  return (schema) => {
    // A polluted prototype is for the plain path, which knows how to look past it; nor is anything made of it.
    let textOf = inheritedKey() === undefined ? compile(schema) : undefined;
    return (value, told) => {
      if (inheritedKey() !== undefined) return undefined;
      textOf ??= compile(schema);
      return textOf(value, told);
    };
  };
}

/**
 * Gives `JSON.stringify(schema.parse(value))` without parsing, or nothing, which says nothing about the
 * value: parse it then. Throws what a getter or proxy within the value throws.
 */
export const jsonTextOf: Compile = (schema) => jsonTexts()(schema);
