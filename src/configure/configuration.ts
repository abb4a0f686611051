/** The interface of `createConfiguration`: a dashboard or a command line sets, tests and saves webhooks with it. */
import type { DeliveryOptions } from '../delivery/options.ts';
import type { SendReport } from '../delivery/report.ts';
import type { OrganisationFormat } from '../settings/schema.ts';

/** Stores one text. In a database use one row with a version or a lock, so that no change is lost. */
export interface SettingsStore {
  /** Returns `undefined` if nothing was ever written. */
  read(): Promise<string | undefined>;
  /**
   * Replaces the text atomically by the result of `change`. `change` has no side effects and may be called
   * again with another text. If it throws, nothing is written and the promise rejects with its error. If it
   * returns the same text, or `undefined`, the store need not write.
   */
  update(change: (text: string | undefined) => string | undefined): Promise<void>;
}

/** Use the options of the sender that will deliver, so that the test proves the same path. */
export type TestOptions = Pick<
  DeliveryOptions<'open'>,
  'deadlineMs' | 'dispatcher' | 'headers' | 'network' | 'userAgent' | 'v1Aliases'
>;

/** Either `file` or `store`. The other options are for `test`: use those of your sender. */
export interface ConfigurationOptions extends TestOptions {
  /** The path of a JSON file for `settingsFile`. Created by the first change. */
  readonly file?: string | undefined;
  readonly store?: SettingsStore | undefined;
}

export interface WebhookChoice {
  /** Not empty. Default: a new one, 32 random bytes as 64 hex digits. */
  readonly secret?: string | undefined;
  /** Name of the application. Default: that of the draft or saved application; for a new one its id. */
  readonly name?: string | undefined;
  /** Default: that of the draft or saved application; for a new one the empty string. */
  readonly environment?: string | undefined;
}

/**
 * A destination that is allowed but risky:
 *
 * - `plain-http`: messages can be read in transit; the signature does not encrypt them.
 * - `short-secret`: fewer than 16 bytes can be guessed.
 * - `space-around-secret`: the space counts, and is easily lost when the secret is copied.
 */
export type DestinationWarning = 'plain-http' | 'short-secret' | 'space-around-secret';

/** Sets the named modules or playbooks, and keeps the others; `'all'` removes the selection. */
export type Selection = Readonly<Record<string, boolean>> | 'all';

/** Contains the secret: give it to the receiver, and keep it out of logs. */
export interface ChosenWebhook {
  readonly secret: string;
  readonly warnings: readonly DestinationWarning[];
}

export interface SecretChoice {
  /** Which secret. Default: the draft's if there is a draft, otherwise the current one. */
  readonly of?: 'draft' | 'current' | 'next' | undefined;
}

export interface RotationOptions {
  /** When the new secret starts to sign, like `nextFrom`. Default: in 24 hours; a past time means now. */
  readonly from?: Date | string | undefined;
  /** Not empty. Default: a new one, 32 random bytes as 64 hex digits. */
  readonly secret?: string | undefined;
}

export interface Rotated {
  readonly secret: string;
  readonly from: Date;
  readonly warnings: readonly DestinationWarning[];
}

export interface TestedWebhook extends SendReport {
  /** The draft if there is one. */
  readonly tested: 'draft' | 'saved';
}

/** Without secrets, `tls`, `enabled` and rate limits. */
export interface DescribedApplication {
  readonly name?: string;
  readonly environment?: string;
  /** The saved URL, if there is one. */
  readonly url?: string;
  readonly modules?: Readonly<Record<string, boolean>>;
  /** By slug. */
  readonly playbooks?: Readonly<Record<string, boolean>>;
  /** ISO 8601: the future time at which the next secret starts to sign, if there is one. */
  readonly nextSecretFrom?: string;
  /** The draft's URL, if there is a draft. */
  readonly draftUrl?: string;
  /** False if there is only a draft. */
  readonly isSaved: boolean;
}

export interface DescribedSettings {
  readonly format: OrganisationFormat;
  /** By id. */
  readonly applications: Readonly<Record<string, DescribedApplication>>;
}

/**
 * Every method except `describe`, `secretOf` and `test` writes, atomically: concurrent changes, also of
 * other processes, are not lost.
 *
 * Methods that need a saved application, or its URL and secret, reject with `ERR_UNKNOWN_APPLICATION`;
 * `save`, `discard` and `remove` return false instead. All reject with `ERR_SETTINGS_FAILED` if the stored
 * text is invalid, `ERR_CONFIGURATION_FAILED` if reading or writing failed, and `ERR_INVALID_OPTION`,
 * `ERR_INVALID_URL` or `ERR_INVALID_SECRET` for invalid arguments. No error contains a secret or a URL.
 */
export interface Configuration {
  /** Creates or replaces the draft. Delivery uses the saved settings until `save`. */
  setWebhook(applicationId: string, url: string, choice?: WebhookChoice): Promise<ChosenWebhook>;
  /** Returns the secret that `choice` names; `undefined` if there is none. */
  secretOf(applicationId: string, choice?: SecretChoice): Promise<string | undefined>;
  /** Sends one real `test` message to the draft, or else to the saved destination. */
  test(applicationId: string): Promise<TestedWebhook>;
  /** Makes the draft the saved destination. Returns false if there is no draft. */
  save(applicationId: string): Promise<boolean>;
  /** Removes the draft. Returns false if there is none. */
  discard(applicationId: string): Promise<boolean>;
  /**
   * Removes the application and its draft. New messages for it are rejected; pending ones stay in the queue
   * until their horizon, or until the application is added again. Returns false if there is neither.
   */
  remove(applicationId: string): Promise<boolean>;
  /**
   * Selects the modules that send: sets the named ones, and keeps the others. Once any is named, only those
   * set to true send; `'all'` makes all modules send again.
   */
  selectModules(applicationId: string, modules: Selection): Promise<void>;
  /** Selects playbooks in the same way, by name or slug. */
  selectPlaybooks(applicationId: string, playbooks: Selection): Promise<void>;
  /** Replaces the saved secret at a given time. Each attempt is signed with the old secret or the new one. */
  rotateSecret(applicationId: string, options?: RotationOptions): Promise<Rotated>;
  /** Changes the format from 1 to 2. Returns false if it is 2 already. */
  upgradeFormat(): Promise<boolean>;
  /** Returns names, URLs and selections, of drafts too. Not secrets, `tls`, `enabled` and rate limits. */
  describe(): Promise<DescribedSettings>;
}
