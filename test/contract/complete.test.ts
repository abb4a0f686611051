/** A new field is not forgotten: each field of the schemas has a sample, rows of cases, and a place in the docs. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jsonSchemas } from '../../src/contract/json-schema.ts';
import { keysOf } from './cases/case.ts';
import { LOG_RECORD_FIELDS } from './cases/log-record-fields.ts';
import { WEBHOOK_FIELDS } from './cases/webhook-fields.ts';
import { SAMPLES } from './samples.ts';

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

const FIELDS = [...jsonSchemas()]
  .flatMap(({ schema }) => [...fieldNames(schema)])
  .filter((name, index, all) => all.indexOf(name) === index);

const rows = new Set(
  [...LOG_RECORD_FIELDS, ...WEBHOOK_FIELDS].flatMap(({ field }) => keysOf(field)),
);
const sampleFields = new Set(
  [...JSON.stringify(SAMPLES).matchAll(/"([\w.-]+)":/g)].map(([, name]) => name),
);
const pages = ['contract', 'log-writer'].map((page) => readFileSync(`docs/${page}.md`, 'utf8'));

test('there are fields', () => {
  expect(FIELDS.length).toBeGreaterThan(50);
});

test.each([
  [
    'a value in test/contract/samples.ts',
    (name: string) => sampleFields.has(name) || JUDGED_ELSEWHERE.includes(name),
  ],
  [
    'a row in test/contract/cases/log-record-fields.ts or webhook-fields.ts',
    (name: string) => rows.has(name) || JUDGED_ELSEWHERE.includes(name),
  ],
  [
    'a place in docs/contract.md or docs/log-writer.md',
    (name: string) => pages.some((page) => page.includes(name)),
  ],
])('each field of the contract has %s', (_, has) => {
  expect(FIELDS.filter((name) => !has(name))).toEqual([]);
});
