/** `settingsFile`: settings from a JSON file that may change while it is used. */
import { resolve } from 'node:path';
import { SecurityEventError } from '../errors.ts';
import {
  A_FUNCTION,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  type OptionsOf,
  type OptionValues,
  option,
  optional,
  readOptions,
} from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { ignoreRejection, tryCall } from '../runtime/host-calls.ts';
import { untraced } from '../runtime/untraced.ts';
import { createYield, type YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import {
  type FileSnapshot,
  fingerprintAt,
  readSnapshot,
  readSnapshotSync,
} from './file-snapshot.ts';
import { type OrganisationSchemas, readAtOnce } from './organisation.ts';
import { secretAt } from './scheduled-secret.ts';
import type { OrganisedApplication } from './schema.ts';
import { publish } from './settings-events.ts';
import { IS_CHECKED } from './source.ts';
import {
  applicationsToDeliver,
  readStored,
  type StoredApplication,
  schemasToDeliver,
} from './stored-settings.ts';

const OPTIONS = {
  /** Time between two checks of the file, in ms. 10 to 2147483647; default 1000. */
  pollMs: option<number>(integer(10, MAX_TIMER_MS), 1000),
  /**
   * Returns the secret of an application that has a `url` but no `secret` in the file. Called before every
   * attempt. Default: none, and a `url` needs a `secret`.
   */
  secretOf: optional<(applicationId: string) => string | Promise<string>>(A_FUNCTION),
  /**
   * Called once for each fault, such as an invalid change or a missing file, with the error with which
   * `reload` rejects. Its errors and rejections are ignored. Default: none.
   */
  onFailed: optional<(error: SecurityEventError) => void>(A_FUNCTION),
} as const;

export interface SettingsFileOptions extends OptionsOf<typeof OPTIONS> {}

/** A source for the option `settings`. Any number of senders may share it. */
export interface SettingsFile {
  (applicationId: string): OrganisedApplication | undefined;
  /** Checks the file now. Rejects with `ERR_SETTINGS_FAILED` if it is invalid; the last settings stay in use. */
  reload(): Promise<void>;
  /** Stops checking the file; the last settings stay in use. */
  close(): void;
  [Symbol.dispose](): void;
}

/**
 * Reads settings from a JSON file with the shape of `Settings`; a secret may also be
 * `{ current, next, nextFrom }`. Reads it now, and again when it has changed. An invalid file is reported,
 * and the last settings stay in use. The last argument is for tests.
 *
 * @throws SecurityEventError `ERR_SETTINGS_FAILED` if the file is missing or invalid now;
 * `ERR_INVALID_OPTION`.
 */
export function settingsFile(
  path: string,
  options: SettingsFileOptions = {},
  clock: Clock = systemClock,
): SettingsFile {
  if (typeof path !== 'string' || path === '') {
    throw invalidOption('expected path to be a non-empty string', ['path']);
  }
  const file = new WatchedSettings(path, readOptions(options, OPTIONS), clock);
  const stopWatching = new AbortController();
  // Outside the context of the request in which it may be created.
  void untraced(() => file.watch(stopWatching.signal));
  const close = (): void => stopWatching.abort();
  return Object.assign((applicationId: string) => file.find(applicationId), {
    [IS_CHECKED]: true,
    reload: () => untraced(() => file.reload()),
    close,
    [Symbol.dispose]: close,
  });
}

interface Fault {
  /** Equal for the same fault. */
  readonly key: string;
  readonly error: SecurityEventError;
}

type Applications = ReadonlyMap<string, OrganisedApplication>;

class WatchedSettings {
  /** The caller's path. */
  readonly #file: string;
  /** Absolute, since the process may change its working directory. */
  readonly #path: string;
  readonly #options: OptionValues<typeof OPTIONS>;
  readonly #clock: Clock;
  readonly #schemas: OrganisationSchemas<StoredApplication>;
  readonly #yieldToEventLoop: YieldToEventLoop;
  #applications: Applications;
  #text: string;
  #fingerprint: string;
  /** Whether two checks in a row saw this fingerprint. Before that the file is read: quick writes may look the same. */
  #isFingerprintStable = false;
  /** The fault of the text that was read last, which need not be validated again. */
  #unusable: Fault | undefined;
  /** Key of the fault that the last poll found. If the next poll finds it too, it is reported. */
  #suspectKey: string | undefined;
  /** Key of the fault that was reported last, until the file is valid again. */
  #reportedKey: string | undefined;
  #checking: Promise<unknown> = Promise.resolve();

  constructor(file: string, options: OptionValues<typeof OPTIONS>, clock: Clock) {
    this.#file = file;
    this.#path = resolve(file);
    this.#options = options;
    this.#clock = clock;
    this.#schemas = schemasToDeliver(options.secretOf === undefined ? 'stored' : 'elsewhere');
    this.#yieldToEventLoop = createYield(clock);
    try {
      const { text, fingerprint } = readSnapshotSync(this.#path);
      this.#applications = readAtOnce(this.#read(text));
      this.#text = text;
      this.#fingerprint = fingerprint;
    } catch (cause) {
      throw this.#failureOf(cause);
    }
  }

  find(applicationId: string): OrganisedApplication | undefined {
    return this.#applications.get(applicationId);
  }

  /**
   * Polls instead of `fs.watch`, which misses changes on network file systems, swapped links in the path and
   * replaced files, and fails when the system has no watches left.
   */
  async watch(signal: AbortSignal): Promise<void> {
    const { pollMs } = this.#options;
    for (;;) {
      await this.#clock.sleepUnref(pollMs, signal);
      if (signal.aborted) return;
      const fault = await this.#check();
      // Editors write in pieces, or move the file away for a moment: reports a fault when it is seen twice.
      if (fault !== undefined && fault.key === this.#suspectKey) this.#report(fault);
      this.#suspectKey = fault?.key;
    }
  }

  async reload(): Promise<void> {
    const fault = await this.#check();
    if (fault === undefined) return;
    this.#report(fault);
    throw fault.error;
  }

  /** One at a time: an older check must not undo a newer one. */
  #check(): Promise<Fault | undefined> {
    const checked = this.#checking.then(() => this.#checkNow());
    this.#checking = checked;
    return checked;
  }

  async #checkNow(): Promise<Fault | undefined> {
    let seen: FileSnapshot;
    try {
      const isUnchanged =
        this.#isFingerprintStable && (await fingerprintAt(this.#path)) === this.#fingerprint;
      if (isUnchanged) return this.#unusable;
      seen = await readSnapshot(this.#path);
    } catch (cause) {
      this.#isFingerprintStable = false;
      return { key: `unreadable: ${(cause as Error).message}`, error: this.#failureOf(cause) };
    }
    this.#isFingerprintStable = seen.fingerprint === this.#fingerprint;
    this.#fingerprint = seen.fingerprint;
    this.#unusable = await this.#faultOf(seen.text);
    return this.#unusable;
  }

  async #faultOf(text: string): Promise<Fault | undefined> {
    if (text === this.#text && this.#reportedKey === undefined) return undefined;
    const key = `unusable: ${text}`;
    if (this.#unusable?.key === key) return this.#unusable;
    try {
      await this.#use(text);
      return undefined;
    } catch (error) {
      return { key, error: this.#failureOf(error) };
    }
  }

  async #use(text: string): Promise<void> {
    const reading = this.#read(text);
    // Also before the first step, the largest, which parses the whole text.
    await this.#yieldToEventLoop();
    let step = reading.next();
    while (step.done !== true) {
      await this.#yieldToEventLoop();
      step = reading.next();
    }
    this.#applications = step.value;
    this.#text = text;
    this.#reportedKey = undefined;
    const { size: applicationCount } = this.#applications;
    publish('settings-loaded', { file: this.#file, applicationCount });
  }

  #report({ key, error }: Fault): void {
    if (this.#reportedKey === key) return;
    this.#reportedKey = key;
    const { code } = error;
    publish('settings-failed', { source: 'file', file: this.#file, code, isKept: true });
    tryCall(() => ignoreRejection(this.#options.onFailed?.(error)));
  }

  *#read(text: string): Generator<void, Applications> {
    const organisation = yield* readStored(text, this.#schemas);
    const secretFor = (id: string, stored: StoredApplication) => this.#secretFor(id, stored);
    return yield* applicationsToDeliver(organisation, secretFor);
  }

  #secretFor(
    applicationId: string,
    { url, secret }: StoredApplication,
  ): OrganisedApplication['secret'] {
    const { secretOf } = this.#options;
    if (secret !== undefined) return () => secretAt(secret, this.#clock.now());
    return url === undefined || secretOf === undefined ? undefined : () => secretOf(applicationId);
  }

  /** Errors of the file system may be the `cause`: they name the file and the reason, but contain nothing of its text. */
  #failureOf(cause: unknown): SecurityEventError {
    const error =
      cause instanceof SecurityEventError
        ? cause
        : new SecurityEventError('ERR_SETTINGS_FAILED', {
            detail: 'the file could not be read',
            cause,
          });
    return error.ofFile(this.#file);
  }
}
