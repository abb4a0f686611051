/** Where settings come from: an object, or a function of yours, asked when they are needed. */

import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import {
  type OrganisationFormat,
  type OrganisedApplication,
  organisedApplicationSchema,
  readWith,
  type Settings,
  type SettingsSchema,
  settingsSchema,
} from './schema.ts';

/**
 * All settings at once, or a function that answers for one application: `undefined` (or `null`)
 * where it knows none of that id.
 */
export type SettingsSource = Settings | SettingsFunction;

export type SettingsFunction = (
  applicationId: string,
) => MaybeApplication | Promise<MaybeApplication>;

/** Of a function whose answers were checked and copied by this library: they are used as they are. */
export const IS_CHECKED: unique symbol = Symbol('checked settings');

type MaybeApplication = OrganisedApplication | null | undefined;

/** An application as it is used: checked and copied, its playbooks by slug, its format filled in. */
export interface ResolvedApplication extends OrganisedApplication {
  readonly format: OrganisationFormat;
}

export interface SettingsReader {
  /**
   * The application, or `undefined` where there is none of that id; at once where the settings are an object.
   *
   * Of a function's answer nothing is kept: it is asked and checked at each call, unless what it gives
   * was checked by this library. Rejects with
   * `ERR_SETTINGS_FAILED` where the function throws or rejects, and with `ERR_INVALID_OPTION` where
   * its answer is no application.
   */
  readonly find: (
    applicationId: string,
  ) => ResolvedApplication | undefined | Promise<ResolvedApplication | undefined>;
}

const APPLICATIONS = ['settings', 'applications'] as const;

/**
 * Settings given as an object are checked and copied here, at once; later changes do not count.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`: `issues` has every fault, each with a path such
 * as `['settings', 'applications', 'app-1', 'secret']`; none holds a secret or a URL.
 * `ERR_SETTINGS_FAILED` where a getter within them threw.
 */
export function createSettings(source: SettingsSource): SettingsReader {
  return typeof source === 'function' ? asking(source) : holding(source);
}

function holding(settings: Settings): SettingsReader {
  const { format, applications } = read(settingsSchema(), settings, ['settings']);
  // A Map: whatever an id is called, `constructor` say, it is no application but its own.
  const byId = new Map(
    Object.entries(applications).map(([id, application]) => [
      id,
      ownProperties({ ...application, format } as ResolvedApplication),
    ]),
  );
  return { find: (applicationId) => byId.get(applicationId) };
}

function asking(source: SettingsFunction): SettingsReader {
  // Made now: while a prototype is polluted, zod makes no schema.
  const schema = organisedApplicationSchema();
  const isChecked = IS_CHECKED in source;
  return {
    async find(applicationId) {
      const path = [...APPLICATIONS, applicationId];
      const answer = await ask(source, applicationId, path);
      if (answer === undefined || answer === null) return undefined;
      return (isChecked ? answer : read(schema, answer, path)) as ResolvedApplication;
    },
  };
}

async function ask(
  source: SettingsFunction,
  applicationId: string,
  path: readonly string[],
): Promise<MaybeApplication> {
  try {
    return await source(applicationId);
  } catch (cause) {
    throw failed(path, cause);
  }
}

function read<T>(schema: SettingsSchema<T>, input: unknown, path: readonly string[]): T {
  const result = attempt(() => readWith(schema, input), path);
  if (result.ok) return result.value;
  const issues = result.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
  throw new SecurityEventError('ERR_INVALID_OPTION', { issues });
}

function attempt<T>(run: () => T, path: readonly string[]): T {
  try {
    return run();
  } catch (cause) {
    throw failed(path, cause);
  }
}

/** The cause is the host's own and may hold what it likes; the message does not repeat it. */
function failed(path: readonly string[], cause: unknown): SecurityEventError {
  return new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause });
}
