/**
 * Reads the text of a settings file one application at a time: thousands of them must not block the event
 * loop, and unchanged ones are not validated again.
 */
import * as z from 'zod';
import { expecting } from '../contract/error-messages.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import {
  type ApplicationTls,
  format,
  missingNames,
  type OrganisedApplication,
  readWith,
  type SettingsSchema,
} from './schema.ts';
import { parseJson, type StoredApplication, storedApplicationSchema } from './stored-settings.ts';

/** An application, and the text that it was read from. */
interface Checked {
  readonly text: string;
  readonly application: OrganisedApplication;
}

export type CheckedApplications = ReadonlyMap<string, Checked>;

/** Settings whose applications are not validated. Delivery does not use drafts. */
interface Envelope {
  readonly format: OrganisedApplication['format'];
  readonly applications: Readonly<Record<string, unknown>>;
  readonly drafts?: unknown;
}

const envelopeSchema = (): SettingsSchema<Envelope> =>
  z.strictObject({
    format: format(),
    applications: z.custom<Envelope['applications']>(isRecord, {
      error: expecting('an object of application ids and applications'),
    }),
    drafts: z.unknown().optional(),
  }) satisfies SettingsSchema<Envelope>;

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Copies only the top level: see `readWith`. */
const ENVELOPE_LEVELS = 1;

export type SecretFor = (
  applicationId: string,
  stored: StoredApplication,
) => OrganisedApplication['secret'];

export class FileSettings {
  readonly #envelope = envelopeSchema();
  readonly #application: SettingsSchema<StoredApplication>;
  readonly #secretFor: SecretFor;

  constructor(secrets: 'here' | 'elsewhere', secretFor: SecretFor) {
    this.#application = storedApplicationSchema(secrets);
    this.#secretFor = secretFor;
  }

  /**
   * Yields after parsing and after each application, and returns all applications. `before` is the result
   * for an earlier text.
   *
   * @throws SecurityEventError `ERR_SETTINGS_FAILED` with every fault; it contains nothing of the text.
   */
  *read(text: string, before: CheckedApplications): Generator<void, CheckedApplications> {
    const read = readWith(this.#envelope, parseJson(text), ENVELOPE_LEVELS);
    if (!read.ok) throw new SecurityEventError('ERR_SETTINGS_FAILED', { issues: read.issues });
    yield;
    const { applications, format: organisationFormat } = read.value;
    const issues: InputIssue[] = [];
    // A Map, since an id may be `constructor`.
    const checked = new Map<string, Checked>();
    for (const [id, given] of Object.entries(applications)) {
      const known = before.get(id);
      const source = JSON.stringify([organisationFormat, given]);
      if (known?.text === source) checked.set(id, known);
      else {
        const application = readWith(this.#application, given);
        if (application.ok) {
          const { value } = application;
          issues.push(...below(id, missingNames(value, organisationFormat)));
          const secret = this.#secretFor(id, value);
          const whole = frozen({ ...value, format: organisationFormat, secret });
          checked.set(id, { text: source, application: whole });
        } else issues.push(...below(id, application.issues));
      }
      yield;
    }
    if (issues.length > 0) throw new SecurityEventError('ERR_SETTINGS_FAILED', { issues });
    return checked;
  }
}

/**
 * Freezes an application, which is shared. Not deeply: a certificate may be a Buffer, which cannot be
 * frozen, and nothing else is as deep.
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

const below = (id: string, issues: readonly InputIssue[]): InputIssue[] =>
  issues.map((issue) => ({ ...issue, path: ['applications', id, ...issue.path] }));

export function readSync<T>(reading: Generator<void, T>): T {
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  return step.value;
}

export async function readYielding<T>(
  reading: Generator<void, T>,
  yieldToEventLoop: YieldToEventLoop,
): Promise<T> {
  for (;;) {
    // Also before the first step, the largest, which parses the whole text.
    await yieldToEventLoop();
    const step = reading.next();
    if (step.done === true) return step.value;
  }
}
