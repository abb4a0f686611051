/** The form of the cases: an input, its place, and the expected result in each reading. */
import { SAMPLES, type SampleName } from '../samples.ts';

export const MODES = [
  { name: 'strict emitted', dialect: 'strict', reading: 'emitted' },
  { name: 'strict received', dialect: 'strict', reading: 'received' },
  { name: 'open emitted', dialect: 'open', reading: 'emitted' },
  { name: 'open received', dialect: 'open', reading: 'received' },
] as const;

export type Mode = (typeof MODES)[number];

/** The options of `contract` for a reading. */
export const optionsOf = ({ dialect, reading }: Mode) => ({ dialect, reading });

export type ModeName = Mode['name'];

/** Keys by dots, indices as digits; an array where a key has a dot itself. */
export type Path = string | readonly (string | number)[];

export interface Refusal {
  readonly at: Path;
  readonly says: string;
}

/** `true`: accepted. A string: refused at the field itself, in these words. */
export type Verdict = true | string | Refusal | readonly Refusal[];
export type Verdicts = Readonly<Record<ModeName, Verdict>>;

/** Stands for a key that is not there. */
export const ABSENT = Symbol('absent');

/** Rules that JSON Schema has no words for; all else must be judged alike. */
export type BeyondJsonSchema = 'D1 suffix' | 'D16 letters' | 'depth';

export interface Given {
  readonly value: unknown;
  readonly verdicts: Verdicts;
  /** What is written for it, where that differs. */
  readonly becomes?: unknown;
  readonly beyondJsonSchema?: BeyondJsonSchema;
}

export const everywhere = (verdict: Verdict): Verdicts => ({
  'strict emitted': verdict,
  'strict received': verdict,
  'open emitted': verdict,
  'open received': verdict,
});

export const byReading = (emitted: Verdict, received: Verdict): Verdicts => ({
  'strict emitted': emitted,
  'strict received': received,
  'open emitted': emitted,
  'open received': received,
});

export const byDialect = (strict: Verdict, open: Verdict): Verdicts => ({
  'strict emitted': strict,
  'strict received': strict,
  'open emitted': open,
  'open received': open,
});

/** Accepted in all four readings, and written unchanged. */
export const ok = (...values: readonly unknown[]): Given[] =>
  values.map((value) => ({ value, verdicts: everywhere(true) }));

/** Refused in all four readings, in the same words. */
export const no = (says: Verdict, ...values: readonly unknown[]): Given[] =>
  values.map((value) => ({ value, verdicts: everywhere(says) }));

/** Refused when emitted, accepted when received: an N or a W of the decisions. */
export const onlyReceived = (says: Verdict, ...values: readonly unknown[]): Given[] =>
  values.map((value) => ({ value, verdicts: byReading(says, true) }));

/** Refused in the strict dialect, accepted in the open one. */
export const onlyOpen = (says: Verdict, ...values: readonly unknown[]): Given[] =>
  values.map((value) => ({ value, verdicts: byDialect(says, true) }));

/** Some values of each kind, by the words that errors have for the kind. */
const OF_KIND = {
  nothing: [ABSENT, undefined],
  null: [null],
  'a string': ['some words'],
  'an empty string': [''],
  'a number': [7],
  'a boolean': [false],
  'an object': [{ a: 1 }],
  'an array': [['a']],
} as const;
export type Kind = keyof typeof OF_KIND;

/** A kind of field: what fits, what does not, and how a value of the wrong kind is refused. */
export interface Field {
  readonly given: readonly Given[];
  readonly wrong: (kind: Kind, value: unknown) => Verdicts;
  readonly wrongKinds: readonly Kind[];
}

const wrongs = (field: Field, kinds: readonly Kind[]): Given[] =>
  kinds.flatMap((kind) =>
    OF_KIND[kind].map((value) => ({ value, verdicts: field.wrong(kind, value) })),
  );

export const required = (field: Field): Given[] => [
  ...field.given,
  ...wrongs(field, ['nothing', 'null', ...field.wrongKinds]),
];

export const optional = (field: Field): Given[] => [
  ...field.given,
  ...ok(ABSENT, undefined),
  ...wrongs(field, ['null', ...field.wrongKinds]),
];

const nullOr = (verdicts: Verdicts): Verdicts =>
  JSON.parse(JSON.stringify(verdicts).replaceAll('"expected ', '"expected null or ')) as Verdicts;

/** Its messages name null too. */
export const nullable = (field: Field): Given[] => [
  ...[...field.given, ...wrongs(field, ['nothing', ...field.wrongKinds])].map((given) => ({
    ...given,
    verdicts: nullOr(given.verdicts),
  })),
  ...ok(null),
];

/** Required when emitted; real senders leave it out (W). */
export const optionalReceived = (field: Field): Given[] => [
  ...field.given,
  ...[ABSENT, undefined].map((value) => ({
    value,
    verdicts: byReading(field.wrong('nothing', value)['strict emitted'], true),
  })),
  ...wrongs(field, ['null', ...field.wrongKinds]),
];

/** What every record, message and element refuses as a whole. */
export const NO_OBJECT: readonly Given[] = [
  ...no('expected an object, found null', null),
  ...no('expected an object, found nothing', undefined),
  ...no('expected an object, found an array', []),
  ...no('expected an object, found a string', 'x'),
];

/** One row of a table of the contract: the field in each of these samples. */
export interface FieldRow {
  readonly on: readonly SampleName[];
  readonly field: Path;
  readonly given: readonly Given[];
}

/** The first value that fits everywhere and the first that fits nowhere. */
const glance = (given: readonly Given[]): Given[] =>
  [true, false].flatMap((fits) =>
    given
      .filter(({ verdicts }) => Object.values(verdicts).every((v) => (v === true) === fits))
      .slice(0, 1),
  );

/**
 * The rows of one table. The first sample is given every value; its siblings, which share the
 * schema of these fields, are given one that fits and one that does not.
 */
export const table = (
  [first, ...siblings]: readonly SampleName[],
  prefix: string,
  rows: Readonly<Record<string, readonly Given[]>>,
): FieldRow[] =>
  Object.entries(rows).flatMap(([key, given]) => {
    const field = `${prefix}${key}`;
    const all = first === undefined ? [] : [{ on: [first], field, given }];
    return siblings.length === 0 ? all : [...all, { on: siblings, field, given: glance(given) }];
  });

type Changes = Readonly<Record<string, unknown>>;

/** A case that changes several fields at once; its refusals say where. */
export interface Change {
  readonly on: SampleName;
  readonly set: Changes;
  readonly verdicts: Verdicts;
  readonly becomes?: Changes;
  readonly beyondJsonSchema?: BeyondJsonSchema;
}

/** A complete input with the verdicts on it and the output where it is accepted. */
export interface Case {
  readonly on: SampleName;
  readonly input: unknown;
  readonly output: unknown;
  readonly field: Path;
  readonly verdicts: Verdicts;
  readonly beyondJsonSchema?: BeyondJsonSchema;
}

export const keysOf = (path: Path): readonly (string | number)[] => {
  if (typeof path !== 'string') return path;
  return path === '' ? [] : path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
};

/** A copy of `root` with `value` at `path`; only the containers on the way are copied. */
export function setAt(root: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = keysOf(path);
  if (key === undefined) return value;
  const below = (root as Record<string | number, unknown> | null)?.[key];
  if (value === ABSENT && rest.length === 0) {
    return Object.fromEntries(Object.entries(root as object).filter(([name]) => name !== `${key}`));
  }
  const next = setAt(below, rest, value);
  if (Array.isArray(root)) return root.with(Number(key), next);
  return { ...(root as object), [key]: next };
}

const changed = (root: unknown, changes: Changes): unknown =>
  Object.entries(changes).reduce((value, [path, next]) => setAt(value, path, next), root);

const beyond = (rule: BeyondJsonSchema | undefined) =>
  rule === undefined ? {} : { beyondJsonSchema: rule };

export const casesOf = ({ on, field, given }: FieldRow): Case[] =>
  on.flatMap((name) =>
    given.map(({ value, verdicts, becomes, beyondJsonSchema }) => {
      const input = setAt(SAMPLES[name], field, value);
      const output = becomes === undefined ? input : setAt(input, field, becomes);
      return { on: name, input, output, field, verdicts, ...beyond(beyondJsonSchema) };
    }),
  );

export const caseOf = ({ on, set, verdicts, becomes = {}, beyondJsonSchema }: Change): Case => {
  const input = changed(SAMPLES[on], set);
  return {
    on,
    input,
    output: changed(input, becomes),
    field: '',
    verdicts,
    ...beyond(beyondJsonSchema),
  };
};

export const refusals = (verdict: Verdict, field: Path): readonly Refusal[] => {
  if (verdict === true) return [];
  if (typeof verdict === 'string') return [{ at: field, says: verdict }];
  return Array.isArray(verdict) ? verdict : [verdict as Refusal];
};
