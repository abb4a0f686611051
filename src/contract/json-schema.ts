/**
 * The contract as JSON Schema, draft 2020-12: what each shape accepts as input, in each dialect and
 * reading. The build writes these files; nothing at run time needs them.
 */
import * as z from 'zod';
import { contract } from './contract.ts';
import type { Dialect, Reading } from './dialect.ts';
import { EVENT_VERSION } from './vocabulary.ts';

export interface JsonSchemaFile {
  /** `<shape>.<dialect>.<reading>.json` */
  readonly file: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

const SHAPES = {
  'log-record': { name: 'LogRecord', title: 'Log record (channel A)' },
  'log-line': { name: 'LogLine', title: 'Log line (channel A, with platform attributes)' },
  'webhook-message-v2': { name: 'WebhookMessageV2', title: 'Webhook message, format v2' },
  'webhook-body-v2': { name: 'WebhookBodyV2', title: 'Webhook request body, format v2' },
  'webhook-message-v1': { name: 'WebhookMessageV1', title: 'Webhook element, format v1' },
  'webhook-body-v1': { name: 'WebhookBodyV1', title: 'Webhook request body, format v1' },
} as const;

const DIALECTS: readonly Dialect[] = ['strict', 'open'];
const READINGS: readonly Reading[] = ['emitted', 'received'];

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    // Free-form JSON is a transform over unknown; its type comes from the schema's own metadata.
    unrepresentable: 'any',
    reused: 'ref',
    override: ({ jsonSchema }) => {
      // Not formats of JSON Schema: validators refuse to compile what they do not know. The
      // pattern beside it says the same.
      if (jsonSchema.format?.startsWith('cidr') === true) delete jsonSchema.format;
    },
  });
  return { $schema, ...rest };
}

/** One schema for each shape, dialect and reading. */
export function* jsonSchemas(): Generator<JsonSchemaFile> {
  for (const [shape, { name, title }] of Object.entries(SHAPES)) {
    for (const dialect of DIALECTS) {
      for (const reading of READINGS) {
        const { $schema, ...rest } = toJsonSchema(contract({ dialect, reading })[name]);
        const heading = { $schema, title, $comment: `${dialect}, ${reading}, ${EVENT_VERSION}` };
        yield { file: `${shape}.${dialect}.${reading}.json`, schema: { ...heading, ...rest } };
      }
    }
  }
}
