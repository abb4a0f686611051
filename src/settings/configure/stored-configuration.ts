/** The configure flow on a store: each call reads or changes the stored text, and keeps nothing. */
import { SecurityEventError } from '../../errors.ts';
import { ANYTHING, check, oneOf, type Rules, usable } from '../../option-rules.ts';
import type { Clock } from '../../runtime/clock.ts';
import { parseWebhookUrl } from '../../webhook/http/webhook-url.ts';
import { checkSecret } from '../../webhook/signature.ts';
import { secretAt } from '../scheduled-secret.ts';
import type { SettingsSchema } from '../schema.ts';
import {
  parseStoredSettings,
  type StoredSettings,
  storedSettingsSchema,
  writeStoredSettings,
} from '../stored-settings.ts';
import {
  type Change,
  discardDraft,
  draftOf,
  findSaved,
  NO_SETTINGS,
  removeApplication,
  rotateSecret,
  saveDraft,
  savedOf,
  selectModules,
  selectPlaybooks,
  setDraft,
  upgradeFormat,
} from './changes.ts';
import type {
  ChosenWebhook,
  Configuration,
  DescribedSettings,
  Rotated,
  RotationOptions,
  SecretChoice,
  SettingsStore,
  TestedWebhook,
  WebhookChoice,
} from './configuration.ts';
import { describeSettings } from './describe.ts';
import { destinationToTest, type TestOptions, testDestination } from './test-destination.ts';
import { checkId, checkSelection } from './validate-arguments.ts';
import { warningsOf } from './warnings.ts';

const TEXT = usable('a string', (value) => typeof value === 'string');

const WEBHOOK_RULES: Rules<keyof WebhookChoice> = {
  // Validated by `checkSecret`, with its own error code.
  secret: ANYTHING,
  name: TEXT,
  environment: TEXT,
};

const SECRET_RULES: Rules<keyof SecretChoice> = { of: oneOf('draft', 'current', 'next') };

/** ISO 8601 has no years of five digits, so the stored text could not be read again. */
const YEAR_10000_MS = Date.UTC(10_000);

const ROTATION_RULES: Rules<keyof RotationOptions> = {
  from: usable(
    'a Date before the year 10000',
    (value) => value instanceof Date && value.getTime() < YEAR_10000_MS,
  ),
  secret: ANYTHING,
};

/** Time for the receiver to accept the new secret. */
const DEFAULT_NOTICE_MS = 24 * 3_600_000;

export interface ConfigurationSystem {
  readonly store: SettingsStore;
  readonly testOptions: TestOptions;
  readonly clock: Pick<Clock, 'now'>;
  readonly newSecret: () => string;
}

export class StoredConfiguration implements Configuration {
  readonly #system: ConfigurationSystem;
  readonly #schema: SettingsSchema<StoredSettings> = storedSettingsSchema();

  constructor(system: ConfigurationSystem) {
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
    const { name, environment } = given;
    await this.#change(setDraft(id, { url, secret, name, environment }));
    return { secret, warnings: warningsOf({ url: parsed, secret }) };
  }

  async secretOf(applicationId: string, choice: SecretChoice = {}): Promise<string | undefined> {
    const id = checkId(applicationId);
    const { of } = check<SecretChoice>(choice, SECRET_RULES);
    const settings = await this.#read();
    const draft = draftOf(settings, id);
    if (of === 'draft' || (of === undefined && draft !== undefined)) return draft?.secret;
    const stored = (draft === undefined ? savedOf(settings, id) : findSaved(settings, id))?.secret;
    const now = this.#system.clock.now();
    if (of !== 'next') return stored === undefined ? undefined : secretAt(stored, now);
    const isPending = typeof stored === 'object' && Date.parse(stored.nextFrom) > now;
    return isPending ? stored.next : undefined;
  }

  async test(applicationId: string): Promise<TestedWebhook> {
    const id = checkId(applicationId);
    const settings = await this.#read();
    const draft = draftOf(settings, id);
    const destination = destinationToTest(settings, id, this.#system.clock.now());
    const report = await testDestination(id, destination, this.#system.testOptions);
    return { ...report, tested: draft === undefined ? 'saved' : 'draft' };
  }

  async save(applicationId: string): Promise<boolean> {
    return this.#change(saveDraft(checkId(applicationId)));
  }

  async discard(applicationId: string): Promise<boolean> {
    return this.#change(discardDraft(checkId(applicationId)));
  }

  async remove(applicationId: string): Promise<boolean> {
    return this.#change(removeApplication(checkId(applicationId)));
  }

  async selectModules(applicationId: string, modules: unknown): Promise<void> {
    const selection = checkSelection(modules, 'modules');
    await this.#change(selectModules(checkId(applicationId), selection));
  }

  async selectPlaybooks(applicationId: string, playbooks: unknown): Promise<void> {
    const selection = checkSelection(playbooks, 'playbooks');
    await this.#change(selectPlaybooks(checkId(applicationId), selection));
  }

  async rotateSecret(applicationId: string, options: RotationOptions = {}): Promise<Rotated> {
    const id = checkId(applicationId);
    const given = check<RotationOptions>(options, ROTATION_RULES);
    const secret = this.#secretOrNew(given.secret);
    const { clock } = this.#system;
    const fromMs = given.from?.getTime() ?? clock.now() + DEFAULT_NOTICE_MS;
    // Reads the clock when it writes: it may have waited long for other writers.
    await this.#change((settings) =>
      rotateSecret(id, { secret, fromMs, nowMs: clock.now() })(settings),
    );
    return { secret, from: new Date(fromMs), warnings: warningsOf({ url: undefined, secret }) };
  }

  async upgradeFormat(): Promise<boolean> {
    return this.#change(upgradeFormat);
  }

  async describe(): Promise<DescribedSettings> {
    return describeSettings(await this.#read(), this.#system.clock.now());
  }

  #secretOrNew(given: unknown): string {
    return given === undefined ? this.#system.newSecret() : checkSecret(given);
  }

  async #read(): Promise<StoredSettings> {
    return this.#parse(await wrapErrors(() => this.#system.store.read()));
  }

  #parse(text: string | undefined): StoredSettings {
    return text === undefined ? NO_SETTINGS : parseStoredSettings(text, this.#schema);
  }

  async #change<T>(change: Change<T>): Promise<T> {
    let end: { readonly result: T } | undefined;
    await wrapErrors(() =>
      this.#system.store.update((text) => {
        const before = this.#parse(text);
        const { settings, result } = change(before);
        end = { result };
        return settings === before ? text : writeStoredSettings(settings);
      }),
    );
    if (end !== undefined) return end.result;
    throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { detail: 'nothing was changed' });
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
