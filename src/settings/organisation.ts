/** Reads the settings of an organisation one application at a time. */
import * as z from 'zod';
import { expecting } from '../contract/error-messages.ts';
import type { InputIssue } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import {
  formatSchema,
  isObject,
  type OrganisationFormat,
  type ReadSettings,
  readNamed,
  readWith,
} from './schema.ts';

export interface Organisation<Application, Drafts = unknown> {
  readonly format: OrganisationFormat;
  /** A Map, since an id may be `constructor`. */
  readonly applications: ReadonlyMap<string, Application>;
  readonly drafts: Drafts;
}

export interface OrganisationSchemas<Application, Drafts = unknown> {
  readonly envelope: z.ZodType<Envelope>;
  readonly application: z.ZodType<Application>;
  readonly drafts: z.ZodType<Drafts>;
}

/** The top level. Applications, and drafts (webhooks that are not saved yet), are validated later. */
interface Envelope {
  readonly format: OrganisationFormat;
  readonly applications: Readonly<Record<string, unknown>>;
  readonly drafts?: unknown;
}

export const envelopeSchema = () =>
  z.strictObject({
    format: formatSchema(),
    applications: z.custom<Envelope['applications']>(isObject, {
      error: expecting('an object of application ids and applications'),
    }),
  });

/** Copies only the top level: see `readWith`. */
const ENVELOPE_LEVELS = 1;

/** Yields after each application: validating thousands at once would block the event loop. */
export function* readOrganisation<Application, Drafts>(
  input: unknown,
  schemas: OrganisationSchemas<Application, Drafts>,
): Generator<void, ReadSettings<Organisation<Application, Drafts>>> {
  const given = isObject(input) ? ownProperties<Partial<Envelope>>(input) : undefined;
  const envelope = readWith(schemas.envelope, given ?? input, ENVELOPE_LEVELS);
  yield;
  const issues: InputIssue[] = envelope.ok ? [] : [...envelope.issues];
  const applications = new Map<string, Application>();
  // Reads those of an invalid envelope too, so that all faults are reported together.
  const found = isObject(given?.applications) ? given.applications : {};
  for (const [id, one] of Object.entries(found)) {
    const application = readNamed(schemas.application, one, given?.format ?? 2);
    if (application.ok) applications.set(id, application.value);
    else issues.push(...application.issues.map(issueUnder('applications', id)));
    yield;
  }
  const drafts = readWith(schemas.drafts, given?.drafts);
  if (!drafts.ok) issues.push(...drafts.issues.map(issueUnder('drafts')));
  if (!envelope.ok || !drafts.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, value: { ...envelope.value, applications, drafts: drafts.value } };
}

/** Returns a function that adds `path` before the path of an issue. */
const issueUnder =
  (...path: readonly string[]) =>
  (issue: InputIssue): InputIssue => ({ ...issue, path: [...path, ...issue.path] });

/** Runs a generator such as {@link readOrganisation} to its end, ignoring its yields. */
export function readAtOnce<T>(generator: Generator<void, T>): T {
  let step = generator.next();
  while (step.done !== true) step = generator.next();
  return step.value;
}
