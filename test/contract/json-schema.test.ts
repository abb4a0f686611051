import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { API_VERSION, contract, EVENT_VERSION } from '../../src/contract/index.ts';
import { jsonSchemas } from '../helpers/json-schemas.ts';
import { manifest } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { type Case, caseOf, casesOf, MODES, type Mode, setAt } from './cases/case.ts';
import { DECISIONS } from './cases/decisions.ts';
import { LOG_RECORD_FIELDS } from './cases/log-record-fields.ts';
import { WEBHOOK_FIELDS } from './cases/webhook-fields.ts';
import {
  DRAFTS,
  ELEMENTS,
  LINE,
  MESSAGES,
  namesOf,
  RECORDS,
  SAMPLES,
  type SampleName,
} from './samples.ts';

const SHAPES = [
  'log-record',
  'log-line',
  'webhook-message-v2',
  'webhook-body-v2',
  'webhook-message-v1',
  'webhook-body-v1',
];

const HOME = manifest.homepage.replace('#readme', '/schemas');

/** The shapes that hold a sample, and how; its own one first. */
function embeddings(name: SampleName): readonly [string, (input: unknown) => unknown][] {
  if (name in MESSAGES) {
    return [
      ['webhook-message-v2', (input) => input],
      ['webhook-body-v2', (input) => [input]],
    ];
  }
  if (name in ELEMENTS) {
    return [
      ['webhook-message-v1', (input) => input],
      ['webhook-body-v1', (input) => [input]],
    ];
  }
  return SAMPLES[name] === LINE
    ? [['log-line', (input) => input]]
    : [
        ['log-record', (input) => input],
        ['log-line', (input) => input],
      ];
}

/** What can stand in a JSON text: the values that a JSON Schema can speak about. */
function isJson(value: unknown, level = 0): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object' || value === null) {
    return value === null || typeof value === 'string' || typeof value === 'boolean';
  }
  // Cycles are deeper than any case.
  if (level > 1000) return false;
  // Spreading an array shows its holes.
  if (Array.isArray(value)) return [...value].every((child) => isJson(child, level + 1));
  return (
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.values(value).every((child) => isJson(child, level + 1))
  );
}

/** A record's unknown key may be an attribute of a line. */
const judgedAlike = ({ on, input }: Case, shape: string): boolean =>
  !(
    shape === 'log-line' &&
    on !== 'line' &&
    Object.keys(LINE).some((key) => isOwnAttribute(key, input))
  );

const isOwnAttribute = (key: string, input: unknown): boolean =>
  !(key in RECORDS.attack) && Object.hasOwn(Object(input), key);

// Its verdicts are all that is asked for; and tidying the code that it makes takes ajv longer than
// running it untidied.
const ajv = new Ajv2020({
  strict: true,
  allowUnionTypes: true,
  messages: false,
  code: { optimize: false },
});
formats.default(ajv);

const schemas = new Map([...jsonSchemas()].map(({ file, schema }) => [file, schema]));
ajv.addSchema([...schemas.values()]);

const fileOf = (shape: string, { dialect, reading }: Mode): string =>
  `${shape}.${dialect}.${reading}.json`;

/** By the name that the file gives itself. It is compiled when it is first asked for. */
const accepts = (shape: string, mode: Mode, input: unknown): boolean =>
  ajv.validate(String(schemas.get(fileOf(shape, mode))?.['$id']), input);

/** Every reading of the first `count` shapes in which ajv does not say what the case says. */
const disagreements = (given: Case, count: number): readonly object[] =>
  given.on in DRAFTS || !isJson(given.input)
    ? []
    : embeddings(given.on)
        .slice(0, count)
        .filter(([shape]) => judgedAlike(given, shape))
        .flatMap(([shape, embed]) =>
          MODES.filter(
            (mode) =>
              accepts(shape, mode, embed(given.input)) !== (given.verdicts[mode.name] === true),
          ).map((mode) => ({ shape, mode: mode.name, field: given.field, input: given.input })),
        );

const FIELD_CASES = [...LOG_RECORD_FIELDS, ...WEBHOOK_FIELDS].flatMap(casesOf);

/** Each with the decision that it is a case of. */
const DECISION_CASES = DECISIONS.flatMap(({ title, cases }) =>
  cases.map(caseOf).map((given) => ({ title, given })),
);

const isBeyond = (given: Case): boolean => given.beyondJsonSchema !== undefined;

const groups = fc.array(fc.constantFrom('0', '1', 'ab', 'FFFF', 'fffff', 'g', ''), {
  minLength: 1,
  maxLength: 9,
});
const tails = fc.constantFrom('', '', ':1.2.3.4', '1.2.3.4', ':1.2.3', ':1.2.3.04', '.5', ':');
const masks = fc.constantFrom('', '', '/0', '/32', '/33', '/128', '/129', '/064', '/', '/1e1');

/** Texts near IPv6 addresses, many of which are some. */
const addressLike = fc.oneof(
  fc.tuple(fc.ipV6(), masks).map((parts) => parts.join('')),
  fc.tuple(fc.ipV4(), masks).map((parts) => parts.join('')),
  fc.tuple(groups, tails, masks).map(([all, tail, mask]) => `${all.join(':')}${tail}${mask}`),
);

describe('the JSON Schemas', () => {
  it('are one file for each shape, dialect and reading', () => {
    expect([...schemas.keys()].toSorted()).toEqual(
      SHAPES.flatMap((shape) => MODES.map((mode) => fileOf(shape, mode))).toSorted(),
    );
  });

  it('name their draft, themselves, their shape and their reading first', () => {
    const schema = schemas.get('log-record.strict.emitted.json') ?? {};
    expect(Object.entries(schema).slice(0, 5)).toEqual([
      ['$schema', 'https://json-schema.org/draft/2020-12/schema'],
      ['$id', `${HOME}/1.0.0/log-record.strict.emitted.json`],
      ['title', 'Log record (channel A)'],
      [
        'description',
        'What the library writes: unknown keys are refused. ' +
          'Vocabularies are closed, and addresses of channel A are IPv4.',
      ],
      ['$comment', 'log-record, strict, emitted, version 1.0.0'],
    ]);
    expect(schemas.get('webhook-body-v2.open.received.json')).toMatchObject({
      description:
        'What a reader should take: unknown keys pass, and so does what real senders write. ' +
        'Vocabularies take any word that is not empty, and channel A takes IPv6 too.',
      $comment: 'webhook-body-v2, open, received, version 2',
    });
  });

  it('are named below the homepage, by the version of their channel and their file', () => {
    const versions = { log: EVENT_VERSION, v2: API_VERSION, v1: '1' };
    const named = [...schemas].map(([file, { $id }]) => [file, $id]);
    expect(named).toEqual(
      [...schemas.keys()].map((file) => {
        const channel = /^log|v[12]/.exec(file)?.[0] as keyof typeof versions;
        return [file, `${HOME}/${versions[channel]}/${file}`];
      }),
    );
    expect(new Set(named.map(([, id]) => id)).size).toBe(24);
  });

  it('refer to each other by their ids, which no validator fetches', () => {
    const ownBody = {
      type: 'array',
      items: { $ref: `${HOME}/2/webhook-message-v2.strict.received.json` },
    };
    const validate = ajv.compile(ownBody);
    expect(validate([SAMPLES.test])).toBe(true);
    expect(validate([SAMPLES.attack])).toBe(false);
  });

  it.each(namesOf(SAMPLES).filter((name) => !(name in DRAFTS)))(
    'judge every field as the schemas do: %s',
    (name) => {
      const cases = FIELD_CASES.filter(({ on }) => on === name);
      expect(cases.length).toBeGreaterThan(0);
      expect(cases.flatMap((given) => disagreements(given, 1))).toEqual([]);
    },
  );

  it('have no pattern that Python or RE2 refuses: no property of characters, no lookaround', () => {
    const patterns = JSON.stringify([...schemas.values()]).match(/"pattern":"[^"]*"/g) ?? [];
    expect(patterns.length).toBeGreaterThan(0);
    expect(patterns.filter((pattern) => /\\p|\(\?[=!<]/.test(pattern))).toEqual([]);
  });

  it('follow every decision, alone and in lines and bodies', () => {
    const differing = DECISION_CASES.filter(({ given }) => !isBeyond(given)).flatMap(
      ({ title, given }) => disagreements(given, 2).map((found) => ({ title, ...found })),
    );
    expect(differing).toEqual([]);
  });

  it('accept more than the zod schemas in three rules that JSON Schema cannot express', () => {
    const cases = DECISION_CASES.map(({ given }) => given).filter(isBeyond);
    expect(new Set(cases.map(({ beyondJsonSchema }) => beyondJsonSchema))).toEqual(
      new Set(['D1 suffix', 'D16 letters', 'depth']),
    );
    expect(cases.filter((given) => disagreements(given, 2).length === 0)).toEqual([]);
  });

  it.each([
    [0, false],
    [1, true],
    [1000, true],
    [1001, false],
  ])('D31 judge a body of %i elements: %s', (length, verdict) => {
    for (const mode of MODES) {
      const judge = (shape: string, element: unknown): boolean =>
        accepts(
          shape,
          mode,
          Array.from({ length }, () => element),
        );
      expect(judge('webhook-body-v2', SAMPLES.security_response)).toBe(verdict);
      expect(judge('webhook-body-v1', SAMPLES.pulse)).toBe(verdict);
    }
  });

  it.each(SHAPES)('reject values that are neither an object nor an array: %s', (shape) => {
    for (const mode of MODES) {
      for (const value of [null, 5, 'x', true, {}, [[]]]) {
        expect(accepts(shape, mode, value)).toBe(false);
      }
    }
  });

  it('judge any text as an IP address or CIDR as the schemas do', () => {
    const { WebhookMessageV2 } = contract({ reading: 'received' });
    const mode = MODES[1];
    fc.assert(
      fc.property(addressLike, (text) => {
        const input = setAt(SAMPLES.security_response, 'message.properties.ips.0.ip_cidr', text);
        expect(accepts('webhook-message-v2', mode, input)).toBe(
          WebhookMessageV2.safeParse(input).success,
        );
      }),
      { numRuns: quickOrNightly(150, 500) },
    );
  });
});
