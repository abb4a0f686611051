/** `createConfiguration`: configures webhooks in a file, or in the caller's own store. */
import { createWebhookSender } from '../delivery/create-sender.ts';
import { readSenderOptions } from '../delivery/read-options.ts';
import { SecurityEventError } from '../errors.ts';
import {
  ANYTHING,
  check,
  invalidOption,
  NON_EMPTY_TEXT,
  type Rules,
  usable,
} from '../option-rules.ts';
import { hasMethods } from '../own-properties.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { pendingSchedule, secretAt } from '../settings/scheduled-secret.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import { checkSecret, generateSecret } from '../webhook/signature.ts';
import {
  checkId,
  checkSelection,
  ROTATION_RULES,
  SECRET_RULES,
  WEBHOOK_RULES,
  warningsAbout,
} from './arguments.ts';
import type {
  ChosenWebhook,
  Configuration,
  ConfigurationOptions,
  DescribedSettings,
  Rotated,
  RotationOptions,
  SecretChoice,
  SettingsStore,
  TestedWebhook,
  TestOptions,
  WebhookChoice,
} from './configuration.ts';
import {
  type ConfiguredSettings,
  configuredSettingsReader,
  describeSettings,
  destinationToTest,
  savedApplication,
  unknownApplication,
  writeSettings,
} from './configured-settings.ts';
import { fileStore } from './file-store.ts';

const OPTION_RULES: Rules<keyof ConfigurationOptions> = {
  file: NON_EMPTY_TEXT,
  store: usable('an object with read and update', (store) => hasMethods(store, 'read', 'update')),
  // Validated as options of a sender.
  deadlineMs: ANYTHING,
  dispatcher: ANYTHING,
  headers: ANYTHING,
  network: ANYTHING,
  userAgent: ANYTHING,
  v1Aliases: ANYTHING,
};

/**
 * Creates a configuration of webhooks: set the URL, test it, save it, select what is sent. It keeps nothing
 * between calls, so several may be used at the same time, also in several processes.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function createConfiguration(options: ConfigurationOptions): Configuration {
  const { file, store, ...testOptions } = check<ConfigurationOptions>(options, OPTION_RULES);
  if ((file === undefined) === (store === undefined)) {
    throw invalidOption('expected either file or store', ['file']);
  }
  readSenderOptions({ ...testOptions, settings: () => undefined });
  return new StoredConfiguration(store ?? fileStore(file as string), testOptions);
}

/** Time for the receiver to accept the new secret. */
const DEFAULT_NOTICE_MS = 24 * 3_600_000;

export interface ConfigurationSystem {
  readonly clock: Pick<Clock, 'now'>;
  readonly newSecret: () => string;
}

const SYSTEM: ConfigurationSystem = { clock: systemClock, newSecret: generateSecret };

/** Each call reads or changes the stored text, and keeps nothing. */
export class StoredConfiguration implements Configuration {
  readonly #store: SettingsStore;
  readonly #testOptions: TestOptions;
  readonly #system: ConfigurationSystem;
  readonly #parse = configuredSettingsReader();

  constructor(store: SettingsStore, testOptions: TestOptions, system = SYSTEM) {
    this.#store = store;
    this.#testOptions = testOptions;
    this.#system = system;
  }

  async setWebhook(
    applicationId: string,
    url: string,
    choice: WebhookChoice = {},
  ): Promise<ChosenWebhook> {
    const id = checkId(applicationId);
    const parsed = parseWebhookUrl(url);
    const given = check<WebhookChoice>(choice, WEBHOOK_RULES);
    const secret = this.#secretOrNew(given.secret);
    await this.#change(({ applications, drafts }) => {
      const known = drafts.get(id) ?? applications.get(id);
      const { name = known?.name ?? id, environment = known?.environment ?? '' } = given;
      drafts.set(id, { name, environment, url, secret });
      return true;
    });
    return { secret, warnings: warningsAbout(secret, parsed) };
  }

  async secretOf(applicationId: string, choice: SecretChoice = {}): Promise<string | undefined> {
    const id = checkId(applicationId);
    const { of } = check<SecretChoice>(choice, SECRET_RULES);
    const settings = await this.#read();
    const draft = settings.drafts.get(id);
    if (of === 'draft' || (of === undefined && draft !== undefined)) return draft?.secret;
    const saved =
      draft === undefined ? savedApplication(settings, id) : settings.applications.get(id);
    const stored = saved?.secret;
    const now = this.#system.clock.now();
    if (of === 'next') return pendingSchedule(stored, now)?.next;
    return stored === undefined ? undefined : secretAt(stored, now);
  }

  async test(applicationId: string): Promise<TestedWebhook> {
    const id = checkId(applicationId);
    const read = await this.#read();
    const application = destinationToTest(read, id, this.#system.clock.now());
    const settings = () => application;
    const sender = createWebhookSender<'open'>({ ...this.#testOptions, dialect: 'open', settings });
    try {
      const report = await sender.sendTest(id);
      return { ...report, tested: read.drafts.has(id) ? 'draft' : 'saved' };
    } finally {
      await sender.close({ deadlineMs: 0 });
    }
  }

  async save(applicationId: string): Promise<boolean> {
    const id = checkId(applicationId);
    return this.#change(({ applications, drafts }) => {
      const draft = drafts.get(id);
      if (draft === undefined) return false;
      applications.set(id, { ...applications.get(id), ...draft });
      return drafts.delete(id);
    });
  }

  async discard(applicationId: string): Promise<boolean> {
    const id = checkId(applicationId);
    return this.#change(({ drafts }) => drafts.delete(id));
  }

  async remove(applicationId: string): Promise<boolean> {
    const id = checkId(applicationId);
    return this.#change(({ applications, drafts }) => {
      const hadDraft = drafts.delete(id);
      return applications.delete(id) || hadDraft;
    });
  }

  async selectModules(applicationId: string, modules: unknown): Promise<void> {
    await this.#select(applicationId, 'modules', modules);
  }

  async selectPlaybooks(applicationId: string, playbooks: unknown): Promise<void> {
    await this.#select(applicationId, 'playbooks', playbooks);
  }

  async rotateSecret(applicationId: string, options: RotationOptions = {}): Promise<Rotated> {
    const id = checkId(applicationId);
    const given = check<RotationOptions>(options, ROTATION_RULES);
    const secret = this.#secretOrNew(given.secret);
    const from = new Date(given.from ?? this.#system.clock.now() + DEFAULT_NOTICE_MS);
    await this.#change((settings) => {
      const application = savedApplication(settings, id);
      if (application.secret === undefined)
        throw unknownApplication('it has no saved URL and secret');
      // Reads the clock when it writes: it may have waited long for other writers.
      const now = this.#system.clock.now();
      const current = secretAt(application.secret, now);
      const scheduled = { current, next: secret, nextFrom: from.toISOString() };
      const stored = from.getTime() <= now ? secret : scheduled;
      settings.applications.set(id, { ...application, secret: stored });
      return true;
    });
    return { secret, from, warnings: warningsAbout(secret) };
  }

  async upgradeFormat(): Promise<boolean> {
    return this.#change((settings) => {
      if (settings.format === 2) return false;
      settings.format = 2;
      return true;
    });
  }

  async describe(): Promise<DescribedSettings> {
    return describeSettings(await this.#read(), this.#system.clock.now());
  }

  async #select(
    applicationId: string,
    key: 'modules' | 'playbooks',
    given: unknown,
  ): Promise<void> {
    const selection = checkSelection(given, key);
    const id = checkId(applicationId);
    await this.#change((settings) => {
      const { [key]: before, ...rest } = savedApplication(settings, id);
      const changed = selection === 'all' ? rest : { ...rest, [key]: { ...before, ...selection } };
      settings.applications.set(id, changed);
      return true;
    });
  }

  #secretOrNew(given: unknown): string {
    return given === undefined ? this.#system.newSecret() : checkSecret(given);
  }

  async #read(): Promise<ConfiguredSettings> {
    return this.#parse(await wrapErrors(() => this.#store.read()));
  }

  /** Resolves to what `change` returned: whether it changed the settings. */
  async #change(change: (settings: ConfiguredSettings) => boolean): Promise<boolean> {
    let isChanged: boolean | undefined;
    await wrapErrors(() =>
      this.#store.update((text) => {
        const settings = this.#parse(text);
        isChanged = change(settings);
        return isChanged ? writeSettings(settings) : text;
      }),
    );
    if (isChanged !== undefined) return isChanged;
    throw new SecurityEventError('ERR_CONFIGURATION_FAILED', {
      detail: 'the store did not call change',
    });
  }
}

/** The store, and its errors, may be the host's own. */
async function wrapErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof SecurityEventError) throw cause;
    throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { cause });
  }
}
