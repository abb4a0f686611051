/**
 * What a file of settings says, application by application: thousands of them must not hold the event
 * loop, and most of them are what they were before. Pure.
 */

import * as z from 'zod';
import { expecting } from '../contract/wording.ts';
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

/** An application, and what it was made of. */
interface Checked {
  readonly text: string;
  readonly application: OrganisedApplication;
}

export type CheckedApplications = ReadonlyMap<string, Checked>;

/** The settings, not their applications; drafts are of no concern to whoever delivers. */
interface Envelope {
  readonly format: OrganisedApplication['format'];
  readonly applications: Readonly<Record<string, unknown>>;
  readonly drafts?: unknown;
}

/** It looks at no application: they come one by one. */
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

/** The settings themselves. */
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
   * Yields when the text is parsed and after each application, and returns them all; `before` is what an
   * earlier text came to.
   *
   * @throws SecurityEventError `ERR_SETTINGS_FAILED` with every fault; it holds nothing of the text.
   */
  *read(text: string, before: CheckedApplications): Generator<void, CheckedApplications> {
    const read = readWith(this.#envelope, parseJson(text), ENVELOPE_LEVELS);
    if (!read.ok) throw new SecurityEventError('ERR_SETTINGS_FAILED', { issues: read.issues });
    yield;
    const { applications, format: ofAll } = read.value;
    const issues: InputIssue[] = [];
    // A Map: whatever an id is called, `constructor` say, it is no application but its own.
    const checked = new Map<string, Checked>();
    for (const [id, given] of Object.entries(applications)) {
      const known = before.get(id);
      const own = JSON.stringify([ofAll, given]);
      if (known?.text === own) checked.set(id, known);
      else {
        const application = readWith(this.#application, given);
        if (application.ok) {
          const { value } = application;
          issues.push(...below(id, missingNames(value, ofAll)));
          const secret = this.#secretFor(id, value);
          checked.set(id, { text: own, application: frozen({ ...value, format: ofAll, secret }) });
        } else issues.push(...below(id, application.issues));
      }
      yield;
    }
    if (issues.length > 0) throw new SecurityEventError('ERR_SETTINGS_FAILED', { issues });
    return checked;
  }
}

/**
 * Shared by all who ask. Not frozen to the leaves by the contract's `frozen`: a certificate may be a
 * Buffer, which cannot be frozen, and nothing else lies as deep.
 */
function frozen(given: OrganisedApplication): OrganisedApplication {
  const application = ownProperties(given);
  if (application.tls?.key !== undefined) hideKey(application.tls);
  for (const value of Object.values(application)) Object.freeze(value);
  return Object.freeze(application);
}

/** It is a secret, too, and logged by nobody who logs an application. */
function hideKey(tls: ApplicationTls): void {
  const shown = { value: () => ({ ...tls, key: '(hidden)' }) };
  Object.defineProperties(tls, {
    toJSON: shown,
    [Symbol.for('nodejs.util.inspect.custom')]: shown,
  });
}

const below = (id: string, issues: readonly InputIssue[]): InputIssue[] =>
  issues.map((issue) => ({ ...issue, path: ['applications', id, ...issue.path] }));

/** At once. */
export function readToEnd<T>(reading: Generator<void, T>): T {
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  return step.value;
}

/** With time for others between. */
export async function readInPieces<T>(
  reading: Generator<void, T>,
  yieldToEventLoop: YieldToEventLoop,
): Promise<T> {
  for (;;) {
    // Also before the first, which is the largest: the text is parsed in one.
    await yieldToEventLoop();
    const step = reading.next();
    if (step.done === true) return step.value;
  }
}
