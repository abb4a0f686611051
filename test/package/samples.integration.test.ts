/** The sample payloads of the package, for programs in other languages. */
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it, vi } from 'vitest';
import * as contractEntry from '../../src/contract/index.ts';
import { PLATFORMS } from '../../src/log/platform-presets.ts';
import { createLogWriter } from '../../src/log/writer.ts';
import { parseBody } from '../../src/receiver/index.ts';
import * as kit from '../../src/testing/index.ts';
import { filesBelow, root, textOf } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const { contract, EVENT_NAMES, INCIDENT_MESSAGE_TYPES, MESSAGE_TYPES, SVC_PAYLOAD_TYPES } =
  contractEntry;

// Compiling a schema takes a second on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const read = (file: string): string => textOf(join('samples', file));

const platforms = PLATFORMS.filter((name) => name !== 'auto');

interface Shape {
  readonly schema: keyof ReturnType<typeof contract>;
  /** Where a sample says of which kind it is. */
  readonly key?: string;
  /** By the vocabularies. */
  readonly kinds?: readonly string[];
  /** Fields that no sample has: deviations of the contract's own text, written in another way (D15, D21, D27). */
  readonly unseen?: readonly string[];
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'log-record': {
    schema: 'LogRecord',
    key: 'event_name',
    kinds: [...EVENT_NAMES, 'svc.ev0.threat.vulnerability_exploit.lfi'],
    unseen: [],
  },
  'webhook-message-v2': {
    schema: 'WebhookMessageV2',
    key: 'message_type',
    kinds: [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES, 'injection_sql'],
    unseen: ['.id', '.message.date_occured'],
  },
  'webhook-message-v1': {
    schema: 'WebhookMessageV1',
    key: 'svc_payload_type',
    kinds: SVC_PAYLOAD_TYPES,
    unseen: ['.date_occured'],
  },
  'log-line': { schema: 'LogLine' },
  'webhook-body-v2': { schema: 'WebhookBodyV2' },
  'webhook-body-v1': { schema: 'WebhookBodyV1' },
};
const NAMES = Object.keys(SHAPES);
const WITH_KINDS = Object.entries(SHAPES).filter(([, { key }]) => key !== undefined);

const expected = [
  ...WITH_KINDS.flatMap(([shape, { kinds = [] }]) =>
    kinds.flatMap((kind) => [`${shape}/${kind}.json`, `${shape}/${kind}.full.json`]),
  ),
  ...platforms.map((name) => `log-line/${name}.json`),
  'webhook-body-v2/every-type.json',
  'webhook-body-v1/every-type.json',
];

const samplesOf = (shape: string): [string, unknown][] =>
  filesBelow('samples')
    .filter((file) => file.startsWith(`${shape}/`))
    .map((file) => [file, JSON.parse(read(file))]);

const MODES = (['strict', 'open'] as const).flatMap((dialect) =>
  (['emitted', 'received'] as const).map((reading) => ({ dialect, reading })),
);

/** Each takes a while to compile. */
const FILE_MODES = quickOrNightly(
  ['strict.emitted'],
  ['strict.emitted', 'strict.received', 'open.emitted', 'open.received'],
);

type Schema = Readonly<Record<string, unknown>>;

const schemaOf = (shape: string, mode: string): Schema =>
  JSON.parse(textOf(`schemas/${shape}.${mode}.json`));

const listOf = (value: unknown): Schema[] => (Array.isArray(value) ? (value as Schema[]) : []);

/** Where fields may stand, such as `.message.ips[].geo.code`. */
function fieldsOf(schema: Schema, whole: Schema, path = ''): string[] {
  const { $ref, properties, items } = schema as { $ref?: string; items?: Schema } & Schema;
  const inside = (part: Schema, at: string): string[] => fieldsOf(part, whole, at);
  const named = $ref?.split('/').slice(1);
  const target = named?.reduce<unknown>((at, key) => (at as Schema)[key], whole);
  const fields = Object.entries((properties ?? {}) as Record<string, Schema>)
    .filter(([, part]) => !('not' in part))
    .flatMap(([key, part]) => [`${path}.${key}`, ...inside(part, `${path}.${key}`)]);
  return [
    ...(target === undefined ? [] : inside(target as Schema, path)),
    ...fields,
    ...(items === undefined ? [] : inside(items, `${path}[]`)),
    ...['anyOf', 'oneOf', 'allOf'].flatMap((key) =>
      listOf(schema[key]).flatMap((part) => inside(part, path)),
    ),
  ];
}

function pathsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const at = Array.isArray(value) ? `${path}[]` : `${path}.${key}`;
    return [at, ...pathsOf(child, at)];
  });
}

describe('the samples', () => {
  it('exist for every event, message type, format and log platform, and no others', () => {
    expect(filesBelow('samples')).toEqual(expected.toSorted());
  });

  it('equal the output of the factories in each build', async () => {
    const module = (await import(
      /* @vite-ignore */ join(root, 'scripts/sample-files/sample-files.mjs')
    )) as { sampleFiles(parts: object): readonly { file: string; text: string }[] };
    const make = () =>
      module.sampleFiles({ contract: contractEntry, kit, createLogWriter, platforms });
    const made = Object.fromEntries(make().map(({ file, text }) => [file, text]));
    expect(made).toEqual(Object.fromEntries(expected.map((file) => [file, read(file)])));
    expect(make()).toEqual(make());
  });

  it.each(Object.entries(SHAPES))(
    'of %s are valid in every reading, and canonical',
    (shape, of) => {
      const samples = samplesOf(shape);
      expect(samples.length).toBeGreaterThan(0);
      for (const mode of MODES) {
        const schema = contract(mode)[of.schema];
        for (const [file, sample] of samples) {
          expect([file, schema.parse(sample)]).toStrictEqual([file, sample]);
        }
      }
    },
  );

  it.each(NAMES)('of %s are valid by the JSON Schemas of the package', (shape) => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, code: { optimize: false } });
    formats.default(ajv);
    for (const mode of FILE_MODES) {
      const validate = ajv.compile(schemaOf(shape, mode));
      const refused = samplesOf(shape).filter(([, sample]) => !validate(sample));
      expect(refused.map(([file]) => file)).toEqual([]);
    }
  });

  it.each(WITH_KINDS)('of %s show every field of their schema', (shape, { unseen }) => {
    const seen = new Set(samplesOf(shape).flatMap(([, sample]) => pathsOf(sample)));
    const schema = schemaOf(shape, 'strict.emitted');
    const missing = new Set(fieldsOf(schema, schema).filter((path) => !seen.has(path)));
    expect([...missing].toSorted()).toEqual(unseen);
  });

  it('have names of their kind, the smallest and the full one', () => {
    for (const [shape, { key = '', kinds = [] }] of WITH_KINDS) {
      for (const kind of kinds) {
        const smallest = read(`${shape}/${kind}.json`);
        const full = read(`${shape}/${kind}.full.json`);
        expect(JSON.parse(smallest)).toHaveProperty([key], kind);
        expect(JSON.parse(full)).toHaveProperty([key], kind);
        expect(full.length).toBeGreaterThan(smallest.length);
      }
    }
  });

  it.each(['v2', 'v1'])('the body of every type in format %s is as on the wire', (format) => {
    const { kinds: types = [], key = '' } = SHAPES[`webhook-message-${format}`] ?? {};
    const body = read(`webhook-body-${format}/every-type.json`);
    expect(JSON.stringify(JSON.parse(body))).toBe(body);
    const { messages, refused } = parseBody(body);
    expect(refused).toEqual([]);
    expect(messages.map(({ message }) => Reflect.get(message, key))).toEqual(types);
    expect(messages.every(({ isKnownType }) => isKnownType)).toBe(true);
    expect(messages.flatMap(({ unknown }) => unknown)).toEqual([]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(types.length);
  });

  it.each(platforms)(
    'of a line for %s are one line, which parses to the record beside it',
    (name) => {
      const text = read(`log-line/${name}.json`);
      expect(text.indexOf('\n')).toBe(text.length - 1);
      const record: unknown = JSON.parse(read(`log-record/${EVENT_NAMES[0]}.full.json`));
      const line: unknown = JSON.parse(text);
      expect(line).toMatchObject(record as object);
      expect(contract().LogRecord.safeParse(line).success).toBe(false);
      const { dd, trace_id, 'trace.id': traceId } = line as Schema;
      expect([dd, trace_id, traceId].filter((ids) => ids !== undefined)).toHaveLength(1);
    },
  );
});
