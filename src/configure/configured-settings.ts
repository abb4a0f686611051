/** The stored settings that `createConfiguration` reads, changes and writes. */
import * as z from 'zod';
import { SecurityEventError } from '../errors.ts';
import { definedProperties } from '../own-properties.ts';
import { readAtOnce } from '../settings/organisation.ts';
import { pendingSchedule, secretAt } from '../settings/scheduled-secret.ts';
import type { OrganisationFormat, OrganisedApplication } from '../settings/schema.ts';
import {
  readStored,
  type StoredApplication,
  schemasToConfigure,
} from '../settings/stored-settings.ts';
import type { DescribedApplication, DescribedSettings } from './configuration.ts';

/** A destination that is being configured; it only gets test messages. */
export interface Draft {
  readonly name: string;
  readonly environment: string;
  readonly url: string;
  readonly secret: string;
}

/** A copy for one call, which may modify it. */
export interface ConfiguredSettings {
  format: OrganisationFormat;
  /** By id, as saved. */
  readonly applications: Map<string, StoredApplication>;
  /** Separate from the applications, since delivery does not use them. */
  readonly drafts: Map<string, Draft>;
}

const draftsSchema = (): z.ZodType<Readonly<Record<string, Draft>> | undefined> =>
  z
    .record(
      z.string(),
      z.strictObject({
        name: z.string(),
        environment: z.string(),
        url: z.string().min(1),
        secret: z.string().min(1),
      }),
    )
    .optional();

/** Creates its schemas now: zod cannot create them while a prototype is polluted. */
export function configuredSettingsReader(): (text: string | undefined) => ConfiguredSettings {
  const schemas = schemasToConfigure(draftsSchema());
  return (text) => {
    if (text === undefined) return { format: 2, applications: new Map(), drafts: new Map() };
    const { format, applications, drafts = {} } = readAtOnce(readStored(text, schemas));
    return { format, applications: new Map(applications), drafts: new Map(Object.entries(drafts)) };
  };
}

export function writeSettings({ format, applications, drafts }: ConfiguredSettings): string {
  const settings = {
    format,
    applications: Object.fromEntries(applications),
    ...(drafts.size > 0 && { drafts: Object.fromEntries(drafts) }),
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** @throws SecurityEventError `ERR_UNKNOWN_APPLICATION` */
export function savedApplication(
  { applications }: ConfiguredSettings,
  id: string,
): StoredApplication {
  const application = applications.get(id);
  if (application !== undefined) return application;
  throw unknownApplication('no application with this id was saved');
}

export const unknownApplication = (detail: string): SecurityEventError =>
  new SecurityEventError('ERR_UNKNOWN_APPLICATION', { detail, path: ['applicationId'] });

/**
 * Returns the draft with the saved certificates, or else the saved destination.
 *
 * @throws SecurityEventError `ERR_UNKNOWN_APPLICATION`
 */
export function destinationToTest(
  { format, applications, drafts }: ConfiguredSettings,
  id: string,
  nowMs: number,
): OrganisedApplication {
  const saved = applications.get(id);
  const tested = drafts.get(id) ?? saved;
  if (tested?.url === undefined || tested.secret === undefined) {
    throw unknownApplication('it has no URL and secret to test');
  }
  const { name, environment, url, secret } = tested;
  return { name, environment, url, secret: secretAt(secret, nowMs), tls: saved?.tls, format };
}

/** Returns what a dashboard shows: names, URLs and selections, but no secret. */
export function describeSettings(
  { format, applications, drafts }: ConfiguredSettings,
  nowMs: number,
): DescribedSettings {
  const described = new Map<string, DescribedApplication>();
  for (const [id, { name, environment, url }] of drafts) {
    described.set(id, { name, environment, draftUrl: url, isSaved: false });
  }
  for (const [id, saved] of applications) {
    const { name, environment, url, secret, modules, playbooks } = saved;
    described.set(
      id,
      definedProperties({
        name,
        environment,
        url,
        modules: modules && { ...modules },
        playbooks: playbooks && { ...playbooks },
        nextSecretFrom: pendingSchedule(secret, nowMs)?.nextFrom,
        draftUrl: drafts.get(id)?.url,
        isSaved: true,
      }) as DescribedApplication,
    );
  }
  return { format, applications: Object.fromEntries(described) };
}
