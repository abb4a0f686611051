/**
 * The contract as JSON Schema, draft 2020-12: the input of each schema, in each dialect and reading. The build
 * writes these files. They are not used at run time.
 */
import * as z from 'zod';

/** Each schema with its title. `of` names the constant with its version. */
const SHAPES = {
  'log-record': { name: 'LogRecord', title: 'Log record (channel A)', of: 'EVENT_VERSION' },
  'log-line': {
    name: 'LogLine',
    title: 'Log line (channel A, with platform attributes)',
    of: 'EVENT_VERSION',
  },
  'webhook-message-v2': {
    name: 'WebhookMessageV2',
    title: 'Webhook message, format 2',
    of: 'API_VERSION',
  },
  'webhook-body-v2': {
    name: 'WebhookBodyV2',
    title: 'Webhook request body, format 2',
    of: 'API_VERSION',
  },
  'webhook-message-v1': { name: 'WebhookMessageV1', title: 'Webhook element, format 1' },
  'webhook-body-v1': { name: 'WebhookBodyV1', title: 'Webhook request body, format 1' },
};

/**
 * Prefix of the `$id`s: an unused path below the homepage. A URL and not a URN, because every validator
 * resolves references against URLs. Nothing can be fetched there.
 */
const HOME = 'https://github.com/security-event-delivery/security-event-delivery/schemas';

const READING_WORDS = {
  emitted: 'What the library writes: unknown keys are refused.',
  received: 'What a reader should take: unknown keys pass, and so does what real senders write.',
};

const DIALECT_WORDS = {
  strict: 'Vocabularies are closed, and addresses of channel A are IPv4.',
  open: 'Vocabularies take any word that is not empty, and channel A takes IPv6 too.',
};

const DIALECTS = ['strict', 'open'];
const READINGS = ['emitted', 'received'];

function toJsonSchema(schema) {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    // Free-form JSON is a transform of unknown. Its type comes from the schema's metadata.
    unrepresentable: 'any',
    reused: 'ref',
    override: ({ jsonSchema }) => {
      // Not a JSON Schema format, and validators reject unknown ones. The pattern has the same meaning.
      if (jsonSchema.format?.startsWith('cidr') === true) delete jsonSchema.format;
    },
  });
  return { $schema, ...rest };
}

/**
 * Yields one schema for each shape, dialect and reading, with its file name `<shape>.<dialect>.<reading>.json`.
 * Takes the contract's module.
 */
export function* jsonSchemas({ contract, ...versions }) {
  for (const [shape, { name, title, of }] of Object.entries(SHAPES)) {
    const version = versions[of] ?? '1';
    for (const dialect of DIALECTS) {
      for (const reading of READINGS) {
        const { $schema, ...rest } = toJsonSchema(contract({ dialect, reading })[name]);
        const file = `${shape}.${dialect}.${reading}.json`;
        const heading = {
          $schema,
          $id: `${HOME}/${version}/${file}`,
          title,
          description: `${READING_WORDS[reading]} ${DIALECT_WORDS[dialect]}`,
          $comment: `${shape}, ${dialect}, ${reading}, version ${version}`,
        };
        yield { file, schema: { ...heading, ...rest } };
      }
    }
  }
}
