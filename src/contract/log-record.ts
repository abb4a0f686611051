/** The log record of channel A: envelope, context and the seven payloads. */
import * as z from 'zod';
import { context } from './context.ts';
import {
  type Dialect,
  fields,
  type Mode,
  narrowed,
  nonEmpty,
  type Reading,
  word,
} from './dialect.ts';
import { byWord, dispatch } from './dispatch.ts';
import { expecting } from './error-messages.ts';
import { jsonObject } from './free-form.ts';
import { nullable } from './nullable.ts';
import { renamed, semver, textLike, timestamp, without } from './primitives.ts';
import { PORTABLE_SLUG, playbookSlug } from './slug.ts';
import {
  EVENT_NAMES,
  INCIDENT_EVENT_TYPES,
  INCIDENT_TYPES,
  RULESETS,
  SEVERITIES,
} from './vocabulary.ts';

const VULNERABILITY_EXPLOIT = 'svc.ev0.threat.vulnerability_exploit';
const SUFFIX_AT = VULNERABILITY_EXPLOIT.length + 1;

const attack = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  fields(mode, { ruleset: word(mode, RULESETS) });

const incident = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  fields(mode, {
    event_type: z.enum(INCIDENT_EVENT_TYPES),
    incident_id: z.string(),
    incident_type: word(mode, INCIDENT_TYPES),
    name: z.string(),
    severity: word(mode, SEVERITIES),
  });

/** A playbook has a name, and a slug derived from it (D16). */
const playbookTrigger = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    name: z.string(),
    playbook_slug: narrowed(
      mode,
      textLike(playbookSlug(), 'a slug (lowercase words joined by underscores or dots)').meta({
        pattern: PORTABLE_SLUG,
      }),
      z.string(),
    ),
  });

const userEvent = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, { success: z.boolean() });

/** `sdk_event_name` is the name if `event_name` is absent (D15). */
const customEvent = <R extends Reading>(mode: Mode<Dialect, R>) => {
  const canonical = fields(mode, {
    event_name: nonEmpty(),
    options: jsonObject(),
    sdk_event_name: z.string().optional(),
  });
  const alias = fields(mode, {
    ...without(['event_name']),
    options: jsonObject(),
    sdk_event_name: nonEmpty(),
  });
  return renamed(canonical, alias, { from: 'sdk_event_name', to: 'event_name', keep: true });
};

/** An exploit's name may end in its protection (D1). Runs only if both fields have the right type. */
const suffixIsProtection = (parsed: z.core.ParsePayload): void => {
  const { event_name, payload } = parsed.value as {
    event_name: string;
    payload: { protection: string };
  };
  if (event_name.slice(SUFFIX_AT) === payload.protection) return;
  parsed.issues.push({
    code: 'custom',
    message: 'expected the suffix of event_name, found another string',
    input: payload.protection,
    path: ['payload', 'protection'],
  });
};

const branchOfSuffixed = (name: string): number | undefined =>
  name.startsWith(`${VULNERABILITY_EXPLOIT}.`) ? EVENT_NAMES.length : undefined;

/** Builds the schema of a record. `attributes` are additional top-level keys, for the log line. */
export const logRecord = <D extends Dialect, R extends Reading, A extends z.core.$ZodLooseShape>(
  mode: Mode<D, R>,
  attributes: A,
) => {
  // Built once for all branches; the keys stay in the order in which they are written.
  const versionField = { event_version: semver() };
  const contextField = { context: context(mode) };
  const record = <N extends z.ZodType, P extends z.ZodType, T extends z.ZodType = z.ZodString>(
    event_name: N,
    payload: P,
    detected_at: T = timestamp() as never,
  ) =>
    fields(mode, {
      ...contextField,
      detected_at,
      event_name,
      ...versionField,
      payload,
      ...attributes,
    });
  const [attackName, exploitName, incidentName, playbookName, login, signup, custom] = EVENT_NAMES;
  return dispatch(byWord('event_name', EVENT_NAMES, branchOfSuffixed), [
    record(z.literal(attackName), attack(mode)),
    record(z.literal(exploitName), fields(mode, { protection: z.string() })),
    // Only an incident may lack a time of detection (D2).
    record(z.literal(incidentName), incident(mode), nullable(timestamp())),
    record(z.literal(playbookName), playbookTrigger(mode)),
    record(z.literal(login), userEvent(mode)),
    record(z.literal(signup), userEvent(mode)),
    record(z.literal(custom), customEvent(mode)),
    record(
      z.templateLiteral([`${VULNERABILITY_EXPLOIT}.`, nonEmpty()], {
        error: expecting('the protection as the suffix of event_name'),
      }),
      fields(mode, { protection: nonEmpty() }),
    ).check(suffixIsProtection),
  ]);
};

export type LogRecordSchema<D extends Dialect, R extends Reading> = ReturnType<
  typeof logRecord<D, R, Record<never, never>>
>;
