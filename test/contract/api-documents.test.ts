/** The OpenAPI and AsyncAPI documents of the package, judged by the schemas of both formats. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { type ApiDocument, asyncApi, openApi } from '../helpers/api-documents.ts';
import { manifest } from '../helpers/package-files.ts';
import { ELEMENTS, MESSAGES } from './samples.ts';

/** Every `$ref` of a document. */
const referencesIn = (document: ApiDocument): string[] =>
  [...JSON.stringify(document.schema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => ref);

const resolve = (document: ApiDocument, reference: string): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], document.schema);

const SCHEMA_NAMES = [
  'BodyV2 SecurityEventMessage SecurityResponseMessage TestMessage VulnerablePackagesMessage',
  'HttpScanMessage UserRiskIncreasedMessage AccountTakeoverMessage InjectionMessage',
  'BodyV1 SecurityEventV1 PulseV1 SecurityResponseV1 TestV1',
  'SecurityEventContent SecurityResponseContent TestContent IncidentContent',
  'AccountTakeoverContent ResolvedIp RelatedIp Geo IpMetadata IncidentStatus CompromisedAccount',
  'Application ResponseProperties IpRange Playbook AccountKey PulseGenre',
].flatMap((line) => line.split(' '));

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(openApi.schema));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    const broken = { ...openApi.schema, webhooks: { a: { post: { parameters: 1 } } } };
    expect((await new Validator().validate(broken)).valid).toBe(false);
    expect(openApi.schema).toMatchObject({ openapi: '3.1.0', info: { version: manifest.version } });
  });
});

describe('the AsyncAPI document', () => {
  it('is valid AsyncAPI 3', () => {
    const require = createRequire(import.meta.url);
    const path = require.resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json');
    const ajv = new Ajv({ strict: false, validateFormats: false });
    const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object);
    validate(asyncApi.schema);
    expect(validate.errors).toBeNull();
    expect(validate({ ...asyncApi.schema, operations: { a: { action: 'take' } } })).toBe(false);
  });
});

describe.each([openApi, asyncApi])('$file', (document) => {
  const { schemas } = document.schema.components;
  const BaseAjv = document === openApi ? Ajv2020 : Ajv;
  const ajv = formats.default(new BaseAjv({ strict: false }));
  const validator = (name: string) =>
    ajv.compile({ $ref: `#/components/schemas/${name}`, components: { schemas } });

  it('has only references that resolve', () => {
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(10);
    expect(references.filter((ref) => resolve(document, ref) === undefined)).toEqual([]);
  });

  it.each([
    ['BodyV2', Object.values(MESSAGES)],
    ['BodyV1', Object.values(ELEMENTS)],
  ] as const)('accepts every message of the contract in %s, and unknown keys', (name, all) => {
    const isValid = validator(name);
    const faults = all.flatMap((message) =>
      isValid([message, { ...message, added: 1 }]) ? [] : isValid.errors,
    );
    expect(faults).toEqual([]);
  });

  it.each(['BodyV2', 'BodyV1'])('rejects other bodies than %s', (name) => {
    const isValid = validator(name);
    for (const body of [[], {}, [{}], [{ message_type: 'test' }], [{ svc_payload_type: 'test' }]]) {
      expect(isValid(body)).toBe(false);
    }
  });

  it('allows any key in free-form objects, which generators would make empty', () => {
    const response = JSON.stringify(schemas['ResponseProperties']);
    const keys = '{"type":"object","additionalProperties":true}';
    expect(response).toContain(`"user_identifiers":{"type":"array","items":${keys}}`);
  });

  it('names each nested object and enum: generators would invent names', () => {
    for (const { properties = {}, items = {} } of Object.values(schemas)) {
      const nested = JSON.stringify([Object.values(properties), items]);
      expect(nested).not.toMatch(/"(?:properties|enum)":[[{]/);
    }
  });

  it('has a schema for each type of message and of nested object', () => {
    expect(Object.keys(schemas)).toEqual(SCHEMA_NAMES);
  });
});
