/**
 * Builds the OpenAPI and AsyncAPI documents of the webhook, for tools that generate receivers, from the JSON
 * Schemas `strict.emitted`.
 */
import { refTo, withNestedNames } from './named-schemas.mjs';

const HEADING = {
  title: 'Security events',
  description:
    'A sender POSTs batches of security events to a URL that the receiver has chosen. Delivery is at least once: the same `message_id` can arrive again. Accept keys that this document does not name.',
  license: { name: 'MIT', identifier: 'MIT' },
};

const BODIES = [
  { name: 'BodyV2', shape: 'webhook-body-v2', type: 'message_type', suffix: 'Message' },
  { name: 'BodyV1', shape: 'webhook-body-v1', type: 'svc_payload_type', suffix: 'V1' },
];

const SIGNATURE = {
  name: 'X-Svc-Integrity',
  description:
    'HMAC-SHA256 of the bytes of the body, keyed with the secret in UTF-8: 64 lower-case hex digits. Verify it before parsing the body.',
  schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
};

/** The responses of a receiver. A sender retries after any status outside 200 to 299. */
const RESPONSES = {
  204: 'The messages are stored.',
  400: 'The body is not an array of 1 to 1000 messages.',
  401: 'The signature is missing or wrong.',
  410: 'Nothing more is wanted: after a second 410 the sender gives up.',
  413: 'The body is too large: the sender sends fewer messages at a time.',
  429: 'Too many requests: the sender waits as long as Retry-After says.',
  503: 'The receiver is busy: the sender waits as long as Retry-After says.',
};

const isObject = (value) => typeof value === 'object' && value !== null;

/** Replaces references by their schemas, because the names of the definitions have no meaning. */
function inlined(value, defs) {
  if (Array.isArray(value)) return value.map((each) => inlined(each, defs));
  if (!isObject(value)) return value;
  const { $ref, ...rest } = value;
  const target = $ref === undefined ? {} : inlined(defs[$ref.split('/').at(-1)], defs);
  const own = Object.entries(rest).map(([key, each]) => [key, inlined(each, defs)]);
  return { ...target, ...Object.fromEntries(own) };
}

const isAlternative = ({ properties }) => properties !== undefined;
const isForbidden = (property) => isObject(property.not) && Object.keys(property.not).length === 0;

/**
 * Returns the alternative that the library writes: the others forbid some of its keys. If one alternative
 * is the empty object, all keys are optional.
 */
function canonical(schema) {
  const { anyOf } = schema;
  if (anyOf?.every(isAlternative) !== true) return schema;
  const written = anyOf.find(({ properties }) => !Object.values(properties).some(isForbidden));
  if (anyOf.every(({ required }) => required !== undefined)) return written;
  const { required, ...rest } = written;
  return { ...rest, description: `Empty, or with ${required.join(' and ')}.` };
}

/** Replaces patterns by formats, and allows unknown keys for later versions. */
function relaxed(value, key = '') {
  if (Array.isArray(value)) return value.map((each) => relaxed(each));
  if (!isObject(value)) return value;
  const { additionalProperties, pattern, ...rest } = canonical(value);
  const isTime = key.startsWith('date_') && pattern !== undefined;
  if (isTime) rest.format = 'date-time';
  else if (pattern !== undefined && rest.format === undefined) rest.pattern = pattern;
  if (isObject(additionalProperties)) rest.additionalProperties = relaxed(additionalProperties);
  // Otherwise generators create an empty class for a schema without properties.
  else if (rest.type === 'object' && !rest.properties) rest.additionalProperties = true;
  const entries = Object.entries(rest).map(([name, each]) => [
    name,
    name === 'properties'
      ? Object.fromEntries(Object.entries(each).map(([at, one]) => [at, relaxed(one, at)]))
      : relaxed(each),
  ]);
  return Object.fromEntries(entries);
}

const pascal = (words) => words.replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());

/** Returns a name such as `SecurityEventMessage`. The injection types share one schema with a pattern. */
function nameOf(message, { type, suffix }) {
  const { const: word = 'injection' } = message.properties[type];
  return `${pascal(word)}${suffix}`;
}

function schemasOf(body, jsonSchema) {
  const { items, minItems, maxItems } = inlined(jsonSchema, jsonSchema.$defs);
  const messages = items.anyOf.map((each) => relaxed(canonical(each)));
  const named = messages.map((message) => [nameOf(message, body), message]);
  const anyOf = named.map(([name]) => refTo(name));
  const description = `Request body, format ${body.name.slice(-1)}.`;
  return {
    [body.name]: { description, type: 'array', minItems, maxItems, items: { anyOf } },
    ...Object.fromEntries(named),
  };
}

/** Converts tuples for AsyncAPI: draft 7 uses `items` instead of `prefixItems`. */
function asDraft7(value) {
  if (Array.isArray(value)) return value.map(asDraft7);
  if (!isObject(value)) return value;
  const { prefixItems, ...rest } = value;
  const own = Object.entries(rest).map(([key, each]) => [key, asDraft7(each)]);
  const items =
    prefixItems === undefined ? {} : { items: prefixItems.map(asDraft7), additionalItems: false };
  return { ...Object.fromEntries(own), ...items };
}

function openApi(info, schemas) {
  const anyOf = BODIES.map(({ name }) => refTo(name));
  const responses = Object.entries(RESPONSES).map(([status, description]) => [
    status,
    { description },
  ]);
  return {
    openapi: '3.1.0',
    info,
    webhooks: {
      securityEvents: {
        post: {
          operationId: 'receiveSecurityEvents',
          summary: 'Receives a batch of security events.',
          parameters: [{ in: 'header', required: true, ...SIGNATURE }],
          requestBody: { required: true, content: { 'application/json': { schema: { anyOf } } } },
          responses: Object.fromEntries(responses),
        },
      },
    },
    components: { schemas },
  };
}

function asyncApi({ title, version, description, license }, schemas) {
  const { name, ...signature } = SIGNATURE;
  const header = { ...signature.schema, description: signature.description };
  const messages = BODIES.map((body) => [
    body.name,
    {
      name: body.name,
      contentType: 'application/json',
      headers: { type: 'object', properties: { [name]: header }, required: [name] },
      payload: refTo(body.name),
    },
  ]);
  const refs = BODIES.map((body) => [body.name, { $ref: `#/components/messages/${body.name}` }]);
  return {
    asyncapi: '3.0.0',
    info: { title, version, description, license: { name: license.name } },
    defaultContentType: 'application/json',
    channels: {
      webhook: {
        address: null,
        description: 'The URL that the receiver has chosen.',
        messages: Object.fromEntries(refs),
      },
    },
    operations: {
      receiveSecurityEvents: {
        action: 'receive',
        channel: { $ref: '#/channels/webhook' },
        summary: 'Receives a batch of security events.',
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
    },
    components: { messages: Object.fromEntries(messages), schemas: asDraft7(schemas) },
  };
}

/** Returns both documents as files of the package's `schemas` folder. `files` are its JSON Schemas. */
export function apiDocuments(files, version) {
  const byFile = new Map(files.map(({ file, schema }) => [file, schema]));
  const schemas = withNestedNames(
    Object.assign(
      {},
      ...BODIES.map((body) => schemasOf(body, byFile.get(`${body.shape}.strict.emitted.json`))),
    ),
  );
  const info = { ...HEADING, version };
  return [
    { file: 'webhook.openapi.json', schema: openApi(info, schemas) },
    { file: 'webhook.asyncapi.json', schema: asyncApi(info, schemas) },
  ];
}
