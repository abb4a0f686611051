/** D0 on free-form JSON: hostile values in every field that takes any JSON. */
import { runInNewContext } from 'node:vm';
import type { SampleName } from '../samples.ts';
import { type Change, everywhere, type Path } from './case.ts';
import type { Decision } from './decision.ts';

const FIELDS: readonly { on: SampleName; field: string; scalars?: true }[] = [
  { on: 'login', field: 'context.actor.identifiers', scalars: true },
  { on: 'attack', field: 'context.http.request.parameters.form' },
  { on: 'attack', field: 'context.http.request.parameters.json' },
  { on: 'attack', field: 'context.http.request.parameters.other' },
  { on: 'attack', field: 'context.http.request.parameters.query' },
  { on: 'custom event', field: 'payload.options' },
  { on: 'account_takeover', field: 'message.new_compromised_accounts.0.user_identifiers' },
  { on: 'security_response', field: 'message.properties.user_identifiers.0' },
  { on: 'security_response (v1)', field: 'properties.user_identifiers.0' },
];

const nested = (levels: number): object => {
  let value = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
};

const selfContaining = (): object => {
  const self: Record<string, unknown> = {};
  self['self'] = self;
  return self;
};

/** One of each kind, with the path below the field: json-value.test.ts has all values. */
const refused = (orNull: string): readonly [unknown, readonly (string | number)[], string][] => [
  [new Date(0), [], `expected ${orNull}a plain object, found a class instance`],
  [selfContaining(), ['self'], 'expected a JSON value, found a cycle'],
  [{ a: [0, undefined] }, ['a', 1], 'expected a JSON value, found nothing'],
];

const SCALARS: readonly unknown[] = [
  JSON.parse('{"__proto__":"x","constructor":"y"}'),
  { a: 1e21, b: 5e-324 },
  runInNewContext('({ a: "x" })'),
];

const NESTED: readonly unknown[] = [
  JSON.parse('{"__proto__":{"__proto__":null}}'),
  { a: ['\u2029', { '': [] }] },
  runInNewContext('({ a: [{ b: null }] })'),
  nested(500),
];

const TOO_DEEP = 'expected at most 500 levels of nesting, found more';

const at = (field: string, below: readonly (string | number)[]): Path =>
  [field, ...below].join('.');

export const FREE_FORM: readonly Decision[] = FIELDS.flatMap(({ on, field, scalars }) => [
  {
    title: `D0 rejects values that are not JSON in ${field} of ${on}`,
    cases: [
      ...refused(scalars === true ? 'null or ' : '').map(
        ([value, below, says]): Change => ({
          on,
          set: { [field]: value },
          verdicts: everywhere({ at: at(field, below), says }),
        }),
      ),
      {
        on,
        set: { [field]: nested(501) },
        verdicts: everywhere({
          at: at(
            field,
            Array.from({ length: 500 }, () => 'a'),
          ),
          says: TOO_DEEP,
        }),
        beyondJsonSchema: 'depth',
      },
    ],
  },
  {
    title: `D0 accepts any JSON in ${field} of ${on} unchanged`,
    cases: [
      ...[...SCALARS, ...(scalars === true ? [] : NESTED)].map(
        (value): Change => ({ on, set: { [field]: value }, verdicts: everywhere(true) }),
      ),
      {
        on,
        set: { [field]: { a: -0 } },
        becomes: { [field]: { a: 0 } },
        verdicts: everywhere(true),
      },
    ],
  },
]);
