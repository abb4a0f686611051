/** The changes that each step of configuring makes to the settings. Unchanged settings need not be written. */
import { slugify } from '../../contract/slug.ts';
import { SecurityEventError } from '../../errors.ts';
import { ownProperties } from '../../own-properties.ts';
import { type ScheduledSecret, type StoredSecret, secretAt } from '../scheduled-secret.ts';
import type { StoredApplication, StoredDraft, StoredSettings } from '../stored-settings.ts';

export interface Changed<T> {
  readonly settings: StoredSettings;
  readonly result: T;
}

export type Change<T> = (settings: StoredSettings) => Changed<T>;

export const NO_SETTINGS: StoredSettings = Object.freeze(
  ownProperties<StoredSettings>({ format: 2, applications: {} }),
);

/** Own keys only: an id such as `constructor` must not be found on a prototype. */
const own = <T>(record: Readonly<Record<string, T>> | undefined, id: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, id) ? record[id] : undefined;

export const draftOf = ({ drafts }: StoredSettings, id: string): StoredDraft | undefined =>
  own(drafts, id);

export function savedOf({ applications }: StoredSettings, id: string): StoredApplication {
  const application = own(applications, id);
  if (application !== undefined) return application;
  throw unknown('no application with this id was saved');
}

export const findSaved = ({ applications }: StoredSettings, id: string) => own(applications, id);

export const unknown = (detail: string): SecurityEventError =>
  new SecurityEventError('ERR_UNKNOWN_APPLICATION', { detail, path: ['applicationId'] });

export interface DraftFields {
  readonly url: string;
  readonly secret: string;
  readonly name: string | undefined;
  readonly environment: string | undefined;
}

/** Replaces an earlier draft. Default name and environment: the earlier or saved ones. */
export function setDraft(id: string, fields: DraftFields): Change<undefined> {
  return (settings) => {
    const known = draftOf(settings, id) ?? findSaved(settings, id);
    const {
      url,
      secret,
      name = known?.name ?? id,
      environment = known?.environment ?? '',
    } = fields;
    const drafts = { ...settings.drafts, [id]: { name, environment, url, secret } };
    return { settings: { ...settings, drafts }, result: undefined };
  };
}

export function saveDraft(id: string): Change<boolean> {
  return (settings) => {
    const draft = draftOf(settings, id);
    if (draft === undefined) return { settings, result: false };
    const applications = {
      ...settings.applications,
      [id]: { ...findSaved(settings, id), ...draft },
    };
    return { settings: withoutDraft({ ...settings, applications }, id), result: true };
  };
}

export function discardDraft(id: string): Change<boolean> {
  return (settings) =>
    draftOf(settings, id) === undefined
      ? { settings, result: false }
      : { settings: withoutDraft(settings, id), result: true };
}

/** Also removes its selections. */
export function removeApplication(id: string): Change<boolean> {
  return (settings) => {
    const isKnown = findSaved(settings, id) !== undefined || draftOf(settings, id) !== undefined;
    if (!isKnown) return { settings, result: false };
    const left = Object.entries(settings.applications).filter(([other]) => other !== id);
    const applications = Object.fromEntries(left);
    return { settings: withoutDraft({ ...settings, applications }, id), result: true };
  };
}

function withoutDraft(settings: StoredSettings, id: string): StoredSettings {
  const { drafts, ...rest } = ownProperties(settings);
  const left = Object.entries(drafts ?? {}).filter(([other]) => other !== id);
  return left.length === 0 ? rest : { ...rest, drafts: Object.fromEntries(left) };
}

/** Sets the named ones to true or false, and keeps the others; `'all'` removes the selection. */
export type Selection = Readonly<Record<string, boolean>> | 'all';

export const selectModules = (id: string, given: Selection): Change<undefined> =>
  select(id, { key: 'modules', given, nameOf: (name) => name });

export const selectPlaybooks = (id: string, given: Selection): Change<undefined> =>
  select(id, { key: 'playbooks', given, nameOf: slugify });

interface SelectionChange {
  readonly key: 'modules' | 'playbooks';
  readonly given: Selection;
  readonly nameOf: (name: string) => string;
}

function select(id: string, { key, given, nameOf }: SelectionChange): Change<undefined> {
  return (settings) => {
    const application = savedOf(settings, id);
    const { [key]: before, ...rest } = application;
    if (given === 'all') return { settings: withSaved(settings, id, rest), result: undefined };
    const named = Object.entries(given).map(([name, value]) => [nameOf(name), value] as const);
    const selection = { ...before, ...Object.fromEntries(named) };
    return {
      settings: withSaved(settings, id, { ...application, [key]: selection }),
      result: undefined,
    };
  };
}

const withSaved = (
  settings: StoredSettings,
  id: string,
  application: StoredApplication,
): StoredSettings => ({
  ...settings,
  applications: { ...settings.applications, [id]: application },
});

export interface Rotation {
  readonly secret: string;
  readonly fromMs: number;
  readonly nowMs: number;
}

/** The new secret signs from `fromMs` on, and the current one until then. Replaces an earlier rotation. */
export function rotateSecret(id: string, { secret, fromMs, nowMs }: Rotation): Change<undefined> {
  return (settings) => {
    const application = savedOf(settings, id);
    if (application.secret === undefined) throw unknown('it has no saved URL and secret');
    const current = secretAt(application.secret, nowMs);
    const next: ScheduledSecret = {
      current,
      next: secret,
      nextFrom: new Date(fromMs).toISOString(),
    };
    const stored: StoredSecret = fromMs <= nowMs ? secret : next;
    return {
      settings: withSaved(settings, id, { ...application, secret: stored }),
      result: undefined,
    };
  };
}

export const upgradeFormat: Change<boolean> = (settings) =>
  settings.format === 1
    ? { settings: { ...settings, format: 2 }, result: true }
    : { settings, result: false };
