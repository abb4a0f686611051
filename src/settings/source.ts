/** Reads settings from an object, or from the host's function when they are needed. */
import * as z from 'zod';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { envelopeSchema, readAtOnce, readOrganisation } from './organisation.ts';
import {
  applicationSchema,
  type OrganisationFormat,
  type OrganisedApplication,
  organisedApplicationSchema,
  type ReadSettings,
  readNamed,
  type Settings,
} from './schema.ts';

/** All settings, or a function that returns one application, or `undefined` or `null` for an unknown id. */
export type SettingsSource = Settings | SettingsFunction;

export type SettingsFunction = (
  applicationId: string,
) => MaybeApplication | Promise<MaybeApplication>;

/** Marks a function of this library, whose results are validated copies. */
export const IS_CHECKED: unique symbol = Symbol('checked settings');

type MaybeApplication = OrganisedApplication | null | undefined;

/** A validated copy of an application, with playbooks by slug and its format. */
export interface ResolvedApplication extends OrganisedApplication {
  readonly format: OrganisationFormat;
}

export interface SettingsReader {
  /**
   * Returns the application, or `undefined` for an unknown id; synchronously if the settings are an object.
   *
   * A function is called at each look-up, and its result validated unless it is marked with
   * {@link IS_CHECKED}. Rejects with `ERR_SETTINGS_FAILED` if the function fails, and with
   * `ERR_INVALID_OPTION` if its result is no application.
   */
  readonly find: (
    applicationId: string,
  ) => ResolvedApplication | undefined | Promise<ResolvedApplication | undefined>;
}

const APPLICATIONS = ['settings', 'applications'] as const;

/**
 * Validates and copies settings that are an object; later changes of it have no effect.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`: `issues` has every fault, each with a path such as
 * `['settings', 'applications', 'app-1', 'secret']`, and without secrets and URLs.
 * `ERR_SETTINGS_FAILED` if a getter threw.
 */
export function createSettings(source: SettingsSource): SettingsReader {
  return typeof source === 'function' ? fromFunction(source) : fromObject(source);
}

function fromObject(settings: Settings): SettingsReader {
  const schemas = {
    envelope: envelopeSchema(),
    application: applicationSchema(),
    drafts: z.undefined(),
  };
  const { format, applications } = validated(['settings'], () =>
    readAtOnce(readOrganisation(settings, schemas)),
  );
  const byId = new Map(
    [...applications].map(([id, application]) => [id, ownProperties({ ...application, format })]),
  );
  return { find: (applicationId) => byId.get(applicationId) };
}

function fromFunction(source: SettingsFunction): SettingsReader {
  // Created now: zod cannot create a schema while a prototype is polluted.
  const schema = organisedApplicationSchema();
  const isChecked = IS_CHECKED in source;
  return {
    async find(applicationId) {
      const path = [...APPLICATIONS, applicationId];
      let found: MaybeApplication;
      try {
        found = await source(applicationId);
      } catch (cause) {
        // A checked source has a typed error. Callers share it, and each sets its own input.
        throw isChecked && cause instanceof SecurityEventError ? cause.copy() : failed(path, cause);
      }
      if (found === undefined || found === null) return undefined;
      const application = isChecked ? found : validated(path, () => readNamed(schema, found));
      return application as ResolvedApplication;
    },
  };
}

function validated<T>(path: readonly string[], read: () => ReadSettings<T>): T {
  let result: ReadSettings<T>;
  try {
    result = read();
  } catch (cause) {
    throw failed(path, cause);
  }
  if (result.ok) return result.value;
  const issues = result.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
  throw new SecurityEventError('ERR_INVALID_OPTION', { issues });
}

/** The message does not repeat the host's own error, which may contain secrets. */
function failed(path: readonly string[], cause: unknown): SecurityEventError {
  return new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause });
}
