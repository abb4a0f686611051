/**
 * The contract as JSON Schema, draft 2020-12: the input of each schema, in each dialect and reading. The build
 * writes these files; they are not used at run time.
 */
import * as z from 'zod';
import { contract } from './contract.ts';
import type { Dialect, Reading } from './dialect.ts';
import { API_VERSION, EVENT_VERSION } from './vocabulary.ts';

export interface JsonSchemaFile {
  /** `<shape>.<dialect>.<reading>.json` */
  readonly file: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Each schema with its version: the log's, or the message format's. */
const SHAPES = {
  'log-record': { name: 'LogRecord', title: 'Log record (channel A)', version: EVENT_VERSION },
  'log-line': {
    name: 'LogLine',
    title: 'Log line (channel A, with platform attributes)',
    version: EVENT_VERSION,
  },
  'webhook-message-v2': {
    name: 'WebhookMessageV2',
    title: 'Webhook message, format v2',
    version: API_VERSION,
  },
  'webhook-body-v2': {
    name: 'WebhookBodyV2',
    title: 'Webhook request body, format v2',
    version: API_VERSION,
  },
  'webhook-message-v1': {
    name: 'WebhookMessageV1',
    title: 'Webhook element, format v1',
    version: '1',
  },
  'webhook-body-v1': {
    name: 'WebhookBodyV1',
    title: 'Webhook request body, format v1',
    version: '1',
  },
} as const;

/**
 * Prefix of the `$id`s: below the homepage, where no other schemas are. A URL and not a URN, since
 * every validator resolves references against one. It is a name: nothing is there to be fetched.
 */
const HOME = 'https://github.com/security-event-delivery/security-event-delivery/schemas';

const READING_WORDS = {
  emitted: 'What the library writes: unknown keys are refused.',
  received: 'What a reader should take: unknown keys pass, and so does what real senders write.',
} as const satisfies Record<Reading, string>;

const DIALECT_WORDS = {
  strict: 'Vocabularies are closed, and addresses of channel A are IPv4.',
  open: 'Vocabularies take any word that is not empty, and channel A takes IPv6 too.',
} as const satisfies Record<Dialect, string>;

const DIALECTS: readonly Dialect[] = ['strict', 'open'];
const READINGS: readonly Reading[] = ['emitted', 'received'];

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    // Free-form JSON is a transform of unknown; its type comes from the schema's metadata.
    unrepresentable: 'any',
    reused: 'ref',
    override: ({ jsonSchema }) => {
      // Not a format of JSON Schema: validators fail on unknown formats. The pattern has the same meaning.
      if (jsonSchema.format?.startsWith('cidr') === true) delete jsonSchema.format;
    },
  });
  return { $schema, ...rest };
}

/** One schema for each shape, dialect and reading. */
export function* jsonSchemas(): Generator<JsonSchemaFile> {
  for (const [shape, { name, title, version }] of Object.entries(SHAPES)) {
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
