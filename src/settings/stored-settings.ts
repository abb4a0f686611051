/** Settings as JSON text, the content of a settings file. */
import * as z from 'zod';
import { expecting } from '../contract/error-messages.ts';
import { SecurityEventError } from '../errors.ts';
import { type StoredSecret, storedSecretSchema } from './scheduled-secret.ts';
import {
  type ApplicationSettings,
  applicationShape,
  format,
  needs,
  type OrganisationFormat,
  readWith,
  type SettingsSchema,
  together,
  withNames,
} from './schema.ts';

export interface StoredApplication extends Omit<ApplicationSettings, 'secret'> {
  readonly secret?: StoredSecret | undefined;
}

/** A destination that is being configured; it only gets test messages. */
export interface StoredDraft {
  readonly name: string;
  readonly environment: string;
  readonly url: string;
  readonly secret: string;
}

export interface StoredSettings {
  /** Default 2. */
  readonly format?: OrganisationFormat | undefined;
  readonly applications: Readonly<Record<string, StoredApplication>>;
  /** Separate from the applications, since delivery does not use them. */
  readonly drafts?: Readonly<Record<string, StoredDraft>> | undefined;
}

/** `url` needs a `secret`, unless secrets are stored elsewhere. */
export function storedApplicationSchema(
  secrets: 'here' | 'elsewhere',
): SettingsSchema<StoredApplication> {
  const shape = z.strictObject({ ...applicationShape(), secret: storedSecretSchema().optional() });
  return secrets === 'here'
    ? together(shape, 'url', 'secret')
    : shape.check(needs('secret', 'url'));
}

export const storedSettingsSchema = (): SettingsSchema<StoredSettings> =>
  withNames(
    z.strictObject({
      format: format(),
      applications: z.record(z.string(), storedApplicationSchema('here'), {
        error: expecting('an object of application ids and applications'),
      }),
      drafts: z.record(z.string(), draft()).optional(),
    }),
  ) satisfies SettingsSchema<StoredSettings>;

const draft = () =>
  z.strictObject({
    name: z.string(),
    environment: z.string(),
    url: z.string().min(1),
    secret: z.string().min(1),
  });

/** @throws SecurityEventError `ERR_SETTINGS_FAILED`; it contains nothing of the text. */
export function parseStoredSettings(
  text: string,
  schema: SettingsSchema<StoredSettings>,
): StoredSettings {
  const read = readWith(schema, parseJson(text));
  if (read.ok) return read.value;
  throw new SecurityEventError('ERR_SETTINGS_FAILED', { issues: read.issues });
}

const BYTE_ORDER_MARK = /^\uFEFF/;

/**
 * @throws SecurityEventError `ERR_SETTINGS_FAILED`, without the parser's error as its cause: that quotes
 * the text around the fault, which may be a secret.
 */
export function parseJson(text: string): unknown {
  const json = text.replace(BYTE_ORDER_MARK, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const detail = `expected JSON${placeOf(error, json)}`;
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { detail });
  }
}

/** Takes only the position from the parser's message, if it has one. */
function placeOf(error: unknown, json: string): string {
  const { message } = error as Error;
  if (message.includes(' end of JSON')) return ', which ends too early';
  const position = / at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const lines = json.slice(0, Number(position)).split('\n');
  return `, which ends in line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}

export const writeStoredSettings = (settings: StoredSettings): string =>
  `${JSON.stringify(settings, null, 2)}\n`;
