/** Settings as JSON text, the content of a settings file. */
import * as z from 'zod';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { isWebhookUrl } from '../webhook/http/webhook-url.ts';
import {
  envelopeSchema,
  type Organisation,
  type OrganisationSchemas,
  readOrganisation,
} from './organisation.ts';
import { type StoredSecret, storedSecretSchema } from './scheduled-secret.ts';
import {
  type ApplicationSettings,
  type ApplicationTls,
  applicationShape,
  bothOrNeither,
  keptTls,
  needs,
  type OrganisedApplication,
} from './schema.ts';

export interface StoredApplication extends Omit<ApplicationSettings, 'secret'> {
  readonly secret?: StoredSecret | undefined;
}

/** Also checks URLs and keys, and no drafts, which delivery does not use. With secrets `elsewhere` a `url` needs no `secret`. */
export const schemasToDeliver = (
  secrets: 'stored' | 'elsewhere',
): OrganisationSchemas<StoredApplication> =>
  storedSchemas(secrets, { url: webhookUrl().optional(), ...keptTls() }, z.unknown());

/** Does not check saved URLs, so that a bad one can be replaced. */
export const schemasToConfigure = <Drafts>(
  drafts: z.ZodType<Drafts>,
): OrganisationSchemas<StoredApplication, Drafts> => storedSchemas('stored', {}, drafts);

const webhookUrl = () =>
  z.string().refine(isWebhookUrl, {
    error: 'expected an absolute http or https URL without credentials',
  });

function storedSchemas<Drafts>(
  secrets: 'stored' | 'elsewhere',
  checks: Partial<ReturnType<typeof applicationShape>>,
  drafts: z.ZodType<Drafts>,
): OrganisationSchemas<StoredApplication, Drafts> {
  const secret = storedSecretSchema().optional();
  const shape = z.strictObject({ ...applicationShape(), ...checks, secret });
  return {
    envelope: envelopeSchema().extend({ drafts: z.unknown().optional() }),
    application:
      secrets === 'stored'
        ? bothOrNeither(shape, 'url', 'secret')
        : shape.check(needs('secret', 'url')),
    drafts,
  };
}

/**
 * Reads the text, and yields after parsing and after each application.
 *
 * @throws SecurityEventError `ERR_SETTINGS_FAILED` with every fault; it contains nothing of the text.
 */
export function* readStored<Drafts>(
  text: string,
  schemas: OrganisationSchemas<StoredApplication, Drafts>,
): Generator<void, Organisation<StoredApplication, Drafts>> {
  const read = yield* readOrganisation(parseJson(text), schemas);
  if (read.ok) return read.value;
  throw new SecurityEventError('ERR_SETTINGS_FAILED', { issues: read.issues });
}

const BYTE_ORDER_MARK = /^\uFEFF/;

/** Does not set the parser's error as `cause`: it quotes the text at the fault, which may be a secret. */
function parseJson(text: string): unknown {
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
  if (message.includes(' end of JSON')) return '; the text ends too early';
  const position = / at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const lines = json.slice(0, Number(position)).split('\n');
  return `; the error is in line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}

/**
 * Returns the applications with their secrets and the format of the organisation, by id. Yields after each.
 */
export function* applicationsToDeliver(
  { format, applications }: Organisation<StoredApplication>,
  secretFor: (id: string, stored: StoredApplication) => OrganisedApplication['secret'],
): Generator<void, ReadonlyMap<string, OrganisedApplication>> {
  const toDeliver = new Map<string, OrganisedApplication>();
  for (const [id, stored] of applications) {
    toDeliver.set(id, frozen({ ...stored, format, secret: secretFor(id, stored) }));
    yield;
  }
  return toDeliver;
}

/**
 * Freezes an application, since all callers share it, and its objects. Does not freeze deeper: there are only
 * certificates, and a Buffer cannot be frozen.
 */
function frozen(given: OrganisedApplication): OrganisedApplication {
  const application = ownProperties(given);
  if (application.tls?.key !== undefined) hideKey(application.tls);
  for (const value of Object.values(application)) Object.freeze(value);
  return Object.freeze(application);
}

/** Keeps the private key out of logs of the application. */
function hideKey(tls: ApplicationTls): void {
  const shown = { value: () => ({ ...tls, key: '(hidden)' }) };
  Object.defineProperties(tls, {
    toJSON: shown,
    [Symbol.for('nodejs.util.inspect.custom')]: shown,
  });
}
