/** The configure flow (D61): what a dashboard or a command line calls. */

import type { SendReport } from '../../delivery/report.ts';
import type { OrganisationFormat } from '../schema.ts';
import type { Selection } from './changes.ts';
import type { SettingsStore } from './store.ts';
import type { TestOptions } from './test-destination.ts';
import type { DestinationWarning } from './warnings.ts';

/** `file`, or a `store` of your own; the rest is how `test` sends, and as in the sender that delivers. */
export interface ConfigurationOptions extends TestOptions {
  /** The path of a JSON file, which `settingsFile` reads; it is made when something is first written. */
  readonly file?: string;
  readonly store?: SettingsStore;
}

export interface WebhookChoice {
  /** Not empty. Default a new one: 32 random bytes as 64 hex digits. */
  readonly secret?: string;
  /** Of the application. Default as saved; where it is new, its id. */
  readonly name?: string;
  /** Default as saved; where it is new, the empty string. */
  readonly environment?: string;
}

/** The one place where a new secret is told: give it to the receiver, and keep it out of logs. */
export interface ChosenWebhook {
  readonly secret: string;
  readonly warnings: readonly DestinationWarning[];
}

export interface SecretChoice {
  /** Which one. Default the draft's where there is a draft, otherwise the one that signs now. */
  readonly of?: 'draft' | 'current' | 'next';
}

export interface RotationOptions {
  /** From when on it signs. Default in 24 hours; a time that is past means now. */
  readonly from?: Date;
  /** Not empty. Default a new one: 32 random bytes as 64 hex digits. */
  readonly secret?: string;
}

export interface Rotated {
  readonly secret: string;
  readonly from: Date;
  readonly warnings: readonly DestinationWarning[];
}

export interface TestedWebhook extends SendReport {
  /** What was tested: the draft where there is one. */
  readonly tested: 'draft' | 'saved';
}

/** Without secrets. */
export interface DescribedApplication {
  readonly name?: string;
  readonly environment?: string;
  /** What is saved; absent where nothing is sent. */
  readonly url?: string;
  readonly modules?: Readonly<Record<string, boolean>>;
  /** By slug. */
  readonly playbooks?: Readonly<Record<string, boolean>>;
  /** ISO 8601: when another secret follows, where that is still to come. */
  readonly nextSecretFrom?: string;
  /** Of its draft. */
  readonly draftUrl?: string;
  /** Whether it was saved; false where there is a draft alone. */
  readonly isSaved: boolean;
}

export interface DescribedSettings {
  readonly format: OrganisationFormat;
  /** By id. */
  readonly applications: Readonly<Record<string, DescribedApplication>>;
}

/**
 * Every method but `describe`, `secretOf` and `test` writes, all or nothing; other writers, of other
 * processes too, lose nothing by it.
 *
 * They reject with `ERR_UNKNOWN_APPLICATION` for an id that was not saved, with `ERR_SETTINGS_FAILED`
 * where what is stored is not what this library stores, with `ERR_CONFIGURATION_FAILED` where reading or
 * writing failed, and with `ERR_INVALID_OPTION`, `ERR_INVALID_URL` or `ERR_INVALID_SECRET` for what is
 * not usable. No error holds a secret or a URL.
 */
export interface Configuration {
  /** Makes a draft, or another one. What is saved, and delivering, stays as it is until `save`. */
  setWebhook(applicationId: string, url: string, choice?: WebhookChoice): Promise<ChosenWebhook>;
  /** `undefined` where there is none. */
  secretOf(applicationId: string, choice?: SecretChoice): Promise<string | undefined>;
  /** Really sends a `test` message, once, to the draft or else to what is saved. */
  test(applicationId: string): Promise<TestedWebhook>;
  /** Makes the draft what delivers. False where there is no draft. */
  save(applicationId: string): Promise<boolean>;
  /** False where there is no draft. */
  discard(applicationId: string): Promise<boolean>;
  /**
   * Takes the application and its draft out of the settings. Nothing is accepted for it from then on;
   * what waits for it stays in the queue until its horizon, or until it is there again. False where there
   * is neither.
   */
  remove(applicationId: string): Promise<boolean>;
  /**
   * Modules that are named send or do not; those that are not stay as they are. Once one is named, only
   * those set to true send; `'all'` makes all send again.
   */
  selectModules(applicationId: string, modules: Selection): Promise<void>;
  /** Likewise, by a playbook's name or slug. */
  selectPlaybooks(applicationId: string, playbooks: Selection): Promise<void>;
  /** A new secret for what is saved, from a time on; each attempt is signed with exactly one. */
  rotateSecret(applicationId: string, options?: RotationOptions): Promise<Rotated>;
  /** From format 1, of the organisation, to 2. False where it is 2 already. */
  upgradeFormat(): Promise<boolean>;
  /** All there is, but secrets. */
  describe(): Promise<DescribedSettings>;
}
