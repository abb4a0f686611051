/** Reads the settings of an organisation one application at a time. */
import * as z from 'zod';
import { expecting } from '../contract/error-messages.ts';
import type { InputIssue } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import {
  type ApplicationSettings,
  format,
  isObject,
  missingNames,
  type OrganisationFormat,
  type ReadSettings,
  readWith,
  type SettingsSchema,
} from './schema.ts';

export interface Organisation<Application, Drafts = unknown> {
  readonly format: OrganisationFormat;
  /** A Map, since an id may be `constructor`. */
  readonly applications: ReadonlyMap<string, Application>;
  readonly drafts: Drafts;
}

export interface OrganisationSchemas<Application, Drafts = unknown> {
  readonly envelope: SettingsSchema<Envelope>;
  readonly application: SettingsSchema<Application>;
  readonly drafts: SettingsSchema<Drafts>;
}

/** The top level. Applications, and drafts (webhooks that are not saved yet), are validated later. */
interface Envelope {
  readonly format: OrganisationFormat;
  readonly applications: Readonly<Record<string, unknown>>;
  readonly drafts?: unknown;
}

const isRecord = (value: unknown): value is Partial<Envelope> => isObject(value);

export const envelopeSchema = () =>
  z.strictObject({
    format: format(),
    applications: z.custom<Envelope['applications']>(isRecord, {
      error: expecting('an object of application ids and applications'),
    }),
  });

/** Copies only the top level: see `readWith`. */
const ENVELOPE_LEVELS = 1;

/** Yields after each application: validating thousands at once would block the event loop. */
export function* readOrganisation<
  Application extends Pick<ApplicationSettings, 'name' | 'environment'>,
  Drafts,
>(
  input: unknown,
  schemas: OrganisationSchemas<Application, Drafts>,
): Generator<void, ReadSettings<Organisation<Application, Drafts>>> {
  const given = isRecord(input) ? ownProperties(input) : {};
  const envelope = readWith(schemas.envelope, isRecord(input) ? given : input, ENVELOPE_LEVELS);
  yield;
  const issues: InputIssue[] = envelope.ok ? [] : [...envelope.issues];
  const applications = new Map<string, Application>();
  // Also those of an invalid envelope, so that all faults are reported together.
  for (const [id, found] of Object.entries(
    isRecord(given.applications) ? given.applications : {},
  )) {
    const application = readWith(schemas.application, found);
    if (application.ok) applications.set(id, application.value);
    const faults = application.ok
      ? missingNames(application.value, given.format)
      : application.issues;
    issues.push(...faults.map(below('applications', id)));
    yield;
  }
  const drafts = readWith(schemas.drafts, given.drafts);
  if (!drafts.ok) issues.push(...drafts.issues.map(below('drafts')));
  if (!envelope.ok || !drafts.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, value: { ...envelope.value, applications, drafts: drafts.value } };
}

const below =
  (...path: readonly string[]) =>
  (issue: InputIssue): InputIssue => ({ ...issue, path: [...path, ...issue.path] });

/** Runs a reading without yielding. */
export function readAtOnce<T>(reading: Generator<void, T>): T {
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  return step.value;
}
