/** A new field is not forgotten: each field of the schemas has a sample, rows of cases, and a place in the docs. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../helpers/json-schemas.ts';
import { keysOf, type Path } from './cases/case.ts';
import { LOG_RECORD_FIELDS } from './cases/log-record-fields.ts';
import { WEBHOOK_FIELDS } from './cases/webhook-fields.ts';
import { ELEMENTS, LINE, MESSAGES, RECORDS } from './samples.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Names of the properties in all objects of a schema. */
function fieldNames(schema: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return names;
  for (const [key, value] of Object.entries(schema as Schema)) {
    if (key !== 'properties') fieldNames(value, names);
    else {
      for (const [name, field] of Object.entries(value as Schema)) {
        names.add(name);
        fieldNames(field, names);
      }
    }
  }
  return names;
}

/** In decisions.test.ts: the misspelling that receivers accept (D27), and the type of a message. */
const JUDGED_ELSEWHERE = ['date_occured', 'message_type'];

/** The fields of the schemas whose file names begin so. */
const fieldsOf = (prefix: string): readonly string[] => [
  ...new Set(
    [...jsonSchemas()]
      .filter(({ file }) => file.startsWith(prefix))
      .flatMap(({ schema }) => [...fieldNames(schema)]),
  ),
];

const keysIn = (samples: object): ReadonlySet<string> =>
  new Set([...JSON.stringify(samples).matchAll(/"([\w.-]+)":/g)].flatMap(([, name = '']) => name));

const rowsOf = (fields: readonly { readonly field: Path }[]): ReadonlySet<string | number> =>
  new Set(fields.flatMap(({ field }) => keysOf(field)));

const pages = ['contract', 'log-writer'].map((page) => readFileSync(`docs/${page}.md`, 'utf8'));

/** `svc_id` is not documented by `svc_identifier`. */
const isDocumented = (name: string): boolean =>
  pages.some((page) => new RegExp(`\\b${name}\\b`).test(page));

describe.each([
  {
    channel: 'A',
    fields: fieldsOf('log-'),
    file: 'log-record-fields.ts',
    rows: rowsOf(LOG_RECORD_FIELDS),
    sampled: keysIn({ ...RECORDS, LINE }),
  },
  {
    channel: 'B',
    fields: fieldsOf('webhook-'),
    file: 'webhook-fields.ts',
    rows: rowsOf(WEBHOOK_FIELDS),
    sampled: keysIn({ ...MESSAGES, ...ELEMENTS }),
  },
])('each field of channel $channel', ({ fields, file, rows, sampled }) => {
  const without = (has: (name: string) => boolean): readonly string[] =>
    fields.filter((name) => !has(name) && !JUDGED_ELSEWHERE.includes(name));

  test('has a value in scripts/sample-files/full-fields.mjs', () => {
    expect(without((name) => sampled.has(name))).toEqual([]);
  });

  test(`has a row in test/contract/cases/${file}`, () => {
    expect(without((name) => rows.has(name))).toEqual([]);
  });

  test('has a place in docs/contract.md or docs/log-writer.md', () => {
    expect(fields.filter((name) => !isDocumented(name))).toEqual([]);
  });
});
